// Markdown and code as the service rendered them.

import { el } from "../dom.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";
const ELEMENTS = new Set("p blockquote ul ol li hr br pre code em strong s a mark span table thead tbody tr th td".split(" "));
const FORMULAS = /^(math|m(i|n|o|s|text|space|row|frac|sqrt|root|style|error|padded|phantom|fenced|enclose|sub|sup|subsup|under|over|underover|multiscripts|prescripts|table|tr|td)|none)$/;
const CLASSES = /^(best|picture|center|right|word|comment|string|number|name|known)$/;
const OF_FORMULAS = new Set("display mathvariant stretchy fence form largeop lspace rspace minsize maxsize movablelimits accent width height depth linethickness columnalign displaystyle scriptlevel".split(" "));

// The only place of the page that reads markup. What the service sends is clean; the parser's document is inert, and only
// the elements and attributes named above are made anew.
const policy = globalThis.trustedTypes?.createPolicy("rendered", { createHTML: (html) => html });

/**
 * Return rendered text as an element.
 * @param {string} html Of a view of the service.
 */
export function rendered(html) {
  const { body } = new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");
  const element = el("div", { class: "rendered", dir: "auto" }, children(body));
  const best = element.querySelectorAll("mark.best");
  // One mark may be in several pieces, of which screen readers hear the first and the last.
  best[0]?.classList.add("begins");
  best[best.length - 1]?.classList.add("ends");
  return element;
}

function children(parent) {
  return [...parent.childNodes].flatMap((node) => {
    if (node.nodeType === Node.TEXT_NODE) return [document.createTextNode(node.data)];
    return node.nodeType === Node.ELEMENT_NODE ? copies(node) : [];
  });
}

function copies(node) {
  const name = node.localName;
  if (node.namespaceURI === MATHML) {
    if (!FORMULAS.test(name)) return [];
    const copy = formula(node, name);
    return [name === "math" && copy.getAttribute("display") === "block" ? wide(copy, "Formula") : copy];
  }
  const heading = /^h([1-6])$/.exec(name);
  // The page's own headings lead to the passages.
  if (heading) return [el("p", { class: `title level-${heading[1]}` }, children(node))];
  if (!ELEMENTS.has(name)) return children(node);
  const copy = el(name, { class: CLASSES.test(node.className) ? node.className : null }, children(node));
  if (name === "mark" && /^\d{1,9}$/.test(node.dataset.number ?? "")) copy.dataset.number = node.dataset.number;
  if (name === "ol" && /^\d{1,9}$/.test(node.getAttribute("start") ?? "")) copy.setAttribute("start", node.getAttribute("start"));
  if (name === "a") link(copy, node.getAttribute("href") ?? "");
  return [name === "table" ? wide(copy, "Table") : copy];
}

/** Return content that scrolls where it is too wide, then also by the keyboard. */
function wide(content, label) {
  const box = el("span", { class: "wide", role: "group", "aria-label": label }, content);
  new ResizeObserver(() => {
    if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
    else box.removeAttribute("tabindex");
  }).observe(box);
  return box;
}

function link(copy, href) {
  if (!/^(https?|mailto):/i.test(href)) return;
  copy.setAttribute("href", href);
  copy.setAttribute("rel", "noopener noreferrer nofollow");
  copy.setAttribute("target", "_blank");
}

function formula(node, name) {
  const copy = document.createElementNS(MATHML, name);
  for (const { name: attribute, value } of node.attributes) if (OF_FORMULAS.has(attribute)) copy.setAttribute(attribute, value);
  copy.append(...children(node));
  return copy;
}
