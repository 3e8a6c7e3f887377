// The search box.

import { el } from "../dom.js";

/**
 * @param {{value: string, action: string, onType?: (text: string) => void, onSend: (text: string) => void, onDown?: () => void}} wanted
 * @param {...Node} more Additional buttons.
 */
export function question({ value, action, onType, onSend, onDown }, ...more) {
  const input = el("input", {
    type: "search",
    id: "question",
    value,
    maxlength: 2000,
    dir: "auto",
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "search",
    placeholder: "What do you want to know?",
    data: { first: "" },
  });
  // While an input method composes a word, the question is incomplete.
  if (onType) input.addEventListener("input", (event) => event.isComposing || onType(input.value.trim()));
  if (onType) input.addEventListener("compositionend", () => onType(input.value.trim()));
  input.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" || !onDown) return;
    event.preventDefault();
    onDown();
  });
  const form = el(
    "form",
    { class: "question", role: "search" },
    el("label", { for: "question", class: "hidden-text" }, "Question"),
    input,
    el("button", { type: "submit", class: "main" }, action),
    more,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    onSend(input.value.trim());
  });
  return form;
}
