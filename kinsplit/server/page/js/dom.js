// Elements: their creation, fields of forms, placeholders. Texts become text nodes, so no document can inject markup.

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

/** Return a number with its unit: "1 document", "2 documents". */
export function counted(number, unit) {
  return `${number.toLocaleString("en")} ${unit}${number === 1 ? "" : "s"}`;
}

/** A select field. */
export function choice(label, name, options, value, hint) {
  const rows = options.map((option) => (typeof option === "string" ? { value: option, label: option } : option));
  const select = el(
    "select",
    { name },
    rows.map((row) => el("option", { value: row.value }, row.label)),
  );
  if (rows.some((row) => row.value === value)) select.value = value;
  return labelled(label, select, hint);
}

/** A number field; it may be empty. */
export function number(label, name, value, { min, max, step = 1, placeholder = "", hint } = {}) {
  const input = el("input", { type: "number", name, value: value ?? "", min, max, step, placeholder, inputmode: "decimal" });
  return labelled(label, input, hint);
}

/** A text field. */
export function line(label, name, value, { placeholder = "", hint } = {}) {
  const input = el("input", { type: "text", name, value: value ?? "", placeholder, autocomplete: "off", dir: "auto" });
  return labelled(label, input, hint);
}

/** A checkbox. */
export function tick(label, name, checked, hint) {
  const field = labelled(label, el("input", { type: "checkbox", name, checked }), hint);
  field.classList.add("tick");
  return field;
}

function labelled(label, input, hint) {
  input.id = freshId("field");
  const about = hint && el("p", { class: "hint", id: `${input.id}-hint` }, hint);
  if (about) input.setAttribute("aria-describedby", about.id);
  return el("div", { class: "field" }, el("label", { for: input.id }, label), input, about);
}

/** Details whose content is made when they are first opened. */
export function folded(summary, fill, attributes = {}) {
  const details = el("details", attributes, el("summary", {}, summary));
  details.addEventListener("toggle", async () => details.append(...(await fill())), { once: true });
  return details;
}

/** Nothing yet, or nothing found. */
export function empty(title, ...content) {
  return el("div", { class: "state" }, el("p", { class: "state-title" }, title), content);
}

/** Loading; the style sheet shows it with a delay, so that quick responses don't flicker. */
export function loading(label) {
  const bars = [1, 2, 3].map(() => el("span", { class: "bone" }));
  return el("div", { class: "loading" }, el("p", { class: "hidden-text" }, label), bars);
}

/**
 * Return something high of which a part is shown, with a button that shows all of it.
 * @param {HTMLElement} content
 * @param {{label: string, at?: () => number, whole?: HTMLElement}} given What the button says, how far from the top the
 *   part begins, and what is shown instead on demand.
 * @returns {HTMLElement[]} The part and the button, which is hidden where everything fits.
 */
export function clipped(content, { label, at = () => 0, whole = content }) {
  const box = el("div", { class: "clip" }, content);
  const more = el("button", { type: "button", class: "more", "aria-expanded": "false", hidden: whole === content }, label);
  let isWhole = false;
  const fit = () => {
    if (isWhole || !box.isConnected) return;
    const isHigh = content.offsetHeight > box.clientHeight + 8;
    more.hidden = !isHigh && whole === content;
    box.classList.toggle("cut", isHigh);
    box.scrollTop = isHigh ? Math.max(0, at()) : 0;
  };
  more.addEventListener("click", () => {
    isWhole = !isWhole;
    box.replaceChildren(isWhole ? whole : content);
    box.classList.toggle("whole", isWhole);
    box.classList.remove("cut");
    more.textContent = isWhole ? "Show less" : label;
    more.setAttribute("aria-expanded", String(isWhole));
    fit();
  });
  new ResizeObserver(fit).observe(content);
  return [box, more];
}
