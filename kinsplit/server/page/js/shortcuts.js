// Keys that act while nobody types. They can be switched off, for those who speak to their computer.

import { kept } from "./storage.js";

/** What there is, as the help shows it: name -> keys and meaning. */
export const SHORTCUTS = {
  question: { keys: ["/"], label: "Go to the question", where: "Everywhere" },
  help: { keys: ["?"], label: "Show this help", where: "Everywhere" },
  theme: { keys: ["t"], label: "Light or dark", where: "Everywhere" },
  view: { keys: ["1", "2", "3", "4", "5"], label: "Search, ask, compare, cut, documents", where: "Everywhere" },
  next: { keys: ["j", "ArrowRight"], label: "Next passage, or next sibling in a source", where: "Passages and sources" },
  previous: { keys: ["k", "ArrowLeft"], label: "Previous passage, or previous sibling", where: "Passages and sources" },
  first: { keys: ["ArrowDown"], label: "From the question to the first passage", where: "Passages and sources" },
  open: { keys: ["o"], label: "Open the passage in its source", where: "Passages and sources" },
  parent: { keys: ["p"], label: "Up to the parent", where: "In a source" },
  child: { keys: ["c"], label: "Down to the first child", where: "In a source" },
  back: { keys: ["Escape"], label: "Back to the passages, or stop the answer", where: "In a source, in an answer" },
};

const byKey = new Map(Object.entries(SHORTCUTS).flatMap(([name, { keys }]) => keys.map((key) => [key, name])));
const handlers = new Map();

/** Return whether single keys act. */
export const enabled = () => kept.get("keys") !== "off";

/** Switch single keys on or off. */
export const enable = (on) => kept.set("keys", on ? null : "off");

/**
 * Let a function answer to a shortcut, until the signal ends; the last one that came is asked.
 * @param {string} name
 * @param {(key: string) => void} act
 * @param {AbortSignal} [signal]
 */
export function on(name, act, signal) {
  const all = handlers.get(name) ?? [];
  handlers.set(name, [...all, act]);
  signal?.addEventListener("abort", () => handlers.set(name, handlers.get(name).filter((each) => each !== act)));
}

/** Listen to the keyboard. */
export function start() {
  document.addEventListener("keydown", (event) => {
    const act = handlers.get(byKey.get(event.key))?.at(-1);
    if (!act || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "Escape" ? typing?.tagName === "SELECT" : typing || !enabled()) return;
    event.preventDefault();
    act(event.key);
  });
}
