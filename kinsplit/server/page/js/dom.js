// Creation of elements. Texts become text nodes, so no document can inject markup.

let ids = 0;

/** Return an id that no other element has. */
export function freshId(prefix) {
  ids += 1;
  return `${prefix}-${ids}`;
}

/**
 * Make an element.
 * @param {string} tag
 * @param {object} attributes `class`, `on` (listeners), `data`, DOM properties such as `value`, or else attributes;
 *   null, undefined and false leave one out.
 * @param {...(Node|string|number|null|undefined|false|Array)} children
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (["value", "checked", "disabled", "open"].includes(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Announce a text to screen readers without moving the focus. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

/**
 * Focus an element and scroll it, or another one, into view.
 * @param {HTMLElement} element
 * @param {Element} [seen] Element to scroll to.
 */
export function reveal(element, seen = element) {
  element.focus({ preventScroll: true });
  seen.scrollIntoView({ block: "center" });
}

/** Return a number with its unit: "1 chunk", "2 chunks". */
export function counted(number, unit) {
  return `${number.toLocaleString("en")} ${unit}${number === 1 ? "" : "s"}`;
}
