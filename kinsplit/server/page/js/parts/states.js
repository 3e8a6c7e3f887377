// Placeholders: empty, loading, failed.

import { announce, el } from "../dom.js";
import { askAgain } from "../key.js";
import { asProblem } from "../problem.js";

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
 * Failed.
 * @param {unknown} error
 * @param {() => void} [again] Tries once more.
 */
export function failed(error, again) {
  const problem = asProblem(error);
  const needsKey = problem.status === 401;
  const act = () => {
    if (needsKey) askAgain();
    again();
  };
  const retry = again && el("button", { type: "button", on: { click: act } }, needsKey ? "Enter a key" : "Try again");
  const given = problem.value !== null && problem.value !== undefined;
  announce(`${problem.message}. ${problem.remedy}`);
  return el(
    "div",
    { class: "state problem" },
    el("p", { class: "state-title" }, problem.message),
    el("p", {}, problem.remedy),
    given && el("p", { class: "quiet" }, "Value: ", el("code", { dir: "auto" }, JSON.stringify(problem.value))),
    problem.request && el("p", { class: "quiet" }, `Request ${problem.request}`),
    retry && el("p", {}, retry),
  );
}
