// Single-key shortcuts, active outside of text fields. They can be disabled, for users of speech input.

import { kept } from "./storage.js";

/** The shortcuts as the help shows them: name -> keys and label. */
export const SHORTCUTS = {
  question: { keys: ["/"], label: "Go to the question", where: "Everywhere" },
  help: { keys: ["?"], label: "Show this help", where: "Everywhere" },
  theme: { keys: ["t"], label: "Switch between light and dark", where: "Everywhere" },
  view: { keys: ["1", "2", "3", "4", "5"], label: "Search, Ask, Compare, Cut, Documents", where: "Everywhere" },
  next: { keys: ["j", "ArrowRight"], label: "Next passage, or next chunk in a source", where: "Passages and sources" },
  previous: { keys: ["k", "ArrowLeft"], label: "Previous passage, or previous chunk in a source", where: "Passages and sources" },
  first: { keys: ["ArrowDown"], label: "From the question to the first passage", where: "Passages and sources" },
  open: { keys: ["o"], label: "Open the passage in its source", where: "Passages and sources" },
  parent: { keys: ["p"], label: "Go to the parent", where: "In a source" },
  child: { keys: ["c"], label: "Go to the first child", where: "In a source" },
  back: { keys: ["Escape"], label: "Go back, or stop the answer", where: "In a source, in an answer" },
};

const byKey = new Map(Object.entries(SHORTCUTS).flatMap(([name, { keys }]) => keys.map((key) => [key, name])));
const handlers = new Map();

/** Return whether shortcuts are enabled. */
export const enabled = () => kept.get("keys") !== "off";

/** Enable or disable shortcuts. */
export const enable = (on) => kept.set("keys", on ? null : "off");

/**
 * Register a function for a shortcut until the signal ends; the last one registered is called.
 * @param {string} name
 * @param {(key: string) => void} act
 * @param {AbortSignal} [signal]
 */
export function on(name, act, signal) {
  const all = handlers.get(name) ?? [];
  handlers.set(name, [...all, act]);
  signal?.addEventListener("abort", () => handlers.set(name, handlers.get(name).filter((each) => each !== act)));
}

/** Start listening to the keyboard. */
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
