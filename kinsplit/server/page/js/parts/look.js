// A text as it looks in its file, with its source one click away.

import * as api from "../api.js";
import { announce, el } from "../dom.js";
import { asProblem } from "../problem.js";
import { clipped } from "./clipped.js";
import { markedText } from "./marked.js";
import { pagePictures } from "./picture.js";
import { fileOf, kindOf } from "./place.js";
import { rendered } from "./rendered.js";

const BEFORE = 90;

/**
 * @param {object} shown
 * @param {{id: string, strategy: string, pages: [number, number]|null, start: number, end: number}} shown.place The
 *   document, the pages and the range of the best hit.
 * @param {string} shown.text
 * @param {{start: number, end: number, best?: boolean}[]} shown.marks In UTF-16 units of the text.
 * @param {object|null} shown.view How the service says that it can be shown.
 */
export function look({ place, text, marks, view }) {
  const body = el("div", { class: "look" });
  const bar = el("div", { class: "looks", role: "group", "aria-label": "View" });
  const ways = {
    ...(view?.pages && place.pages ? { page: ["Page", () => pagePictures(place, fallBack)] } : {}),
    ...(view?.html ? { rendered: ["Rendered", () => asRendered(view.html)] } : {}),
    text: [view?.html ? "Source text" : "Text", () => markedText(text, marks, kindOf(place.id))],
  };
  const show = (name) => {
    for (const tab of bar.querySelectorAll("[data-way]")) tab.setAttribute("aria-pressed", String(tab.dataset.way === name));
    body.replaceChildren(...ways[name][1]().filter(Boolean));
  };
  const buttons = Object.entries(ways).map(([name, [label]]) =>
    el("button", { type: "button", data: { way: name }, on: { click: () => show(name) } }, label),
  );
  if (buttons.length > 1) bar.append(...buttons);
  if (view?.original) bar.append(originalButton(place));
  show(Object.keys(ways)[0]);
  const problem = view?.problem && el("p", { class: "hint" }, view.problem);
  if (!bar.children.length) return [problem, body].filter(Boolean);
  return (buttons.length > 1 ? [bar, problem, body] : [problem, body, bar]).filter(Boolean);

  function fallBack({ field, message }) {
    const note = el("p", { class: "hint" }, `Shown as text: ${field === "file" ? "the " : ""}${message}.`);
    bar.querySelector("[data-way=page]")?.remove();
    if (bar.querySelectorAll("[data-way]").length === 1) bar.querySelector("[data-way]").remove();
    if (!bar.children.length) bar.remove();
    show("text");
    body.prepend(note);
  }
}

function asRendered(html) {
  const content = rendered(html);
  const at = () => {
    const mark = content.querySelector("mark.best") ?? content.querySelector("mark");
    return mark ? mark.getBoundingClientRect().top - content.getBoundingClientRect().top - BEFORE : 0;
  };
  return clipped(content, { label: "Show the whole passage", at });
}

/** Return a button that saves the file of a document. */
export function originalButton({ id, strategy }) {
  const save = async () => {
    try {
      const url = URL.createObjectURL(await api.original(id, strategy));
      el("a", { href: url, download: fileOf(id) }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (error) {
      const { message } = asProblem(error);
      announce(message);
      button.replaceWith(el("span", { class: "hint" }, message));
    }
  };
  const button = el("button", { type: "button", class: "plain", on: { click: save } }, "Original file");
  return button;
}
