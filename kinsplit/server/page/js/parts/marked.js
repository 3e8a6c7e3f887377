// A text with marked ranges.

import { el } from "../dom.js";
import { segments } from "../segments.js";

const BEFORE = 260;
const AFTER = 420;
const LONGEST = 1100;

/**
 * Return a text around its marks, with a button that shows the rest.
 * @param {string} text
 * @param {{start: number, end: number, best?: boolean}[]} marks In UTF-16 units.
 * @param {string} [kind] "code" for code.
 */
export function markedText(text, marks, kind = "") {
  const body = el("div", { class: `text ${kind}`, dir: "auto" });
  const [from, to] = around(text, marks);
  if (from === 0 && to === text.length) {
    body.append(...draw(text, marks, 0, text.length));
    return [body];
  }
  const more = el("button", { type: "button", class: "more", "aria-expanded": "false" });
  let isWhole = false;
  const show = () => {
    const parts = isWhole ? draw(text, marks, 0, text.length) : draw(text, marks, from, to);
    body.replaceChildren(!isWhole && from > 0 ? "… " : "", ...parts, !isWhole && to < text.length ? " …" : "");
    more.textContent = isWhole ? "Show less" : `Show the whole passage (${text.length.toLocaleString("en")} characters)`;
    more.setAttribute("aria-expanded", String(isWhole));
  };
  more.addEventListener("click", () => {
    isWhole = !isWhole;
    show();
  });
  show();
  return [body, more];
}

function draw(text, marks, from, to) {
  const ranges = marks.map((mark) => ({ ...mark, owner: mark }));
  return segments(ranges, from, to).map(({ start, end, owners }) => {
    const part = text.slice(start, end);
    if (!owners.length) return document.createTextNode(part);
    return el("mark", { class: owners.some(({ best }) => best) ? "best" : null }, part);
  });
}

/** Return the range to show: the best mark with its surroundings. */
function around(text, marks) {
  const best = marks.find((mark) => mark.best) ?? marks[0] ?? { start: 0, end: 0 };
  if (text.length <= LONGEST * 1.3) return [0, text.length];
  const from = best.start <= BEFORE * 1.3 ? 0 : blankNear(text, best.start - BEFORE);
  const end = Math.max(from + LONGEST, Math.min(best.end + AFTER, from + 2 * LONGEST));
  const to = end >= text.length - AFTER ? text.length : blankNear(text, end);
  return [from, to];
}

/** Return an offset near the given one that splits neither a word nor a character. */
function blankNear(text, at) {
  const blank = text.slice(at, at + 60).search(/\s/);
  if (blank >= 0) return at + blank;
  return /[\udc00-\udfff]/.test(text[at]) ? at + 1 : at;
}
