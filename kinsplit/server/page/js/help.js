// The help on keyboard shortcuts.

import { show } from "./dialog.js";
import { el } from "./dom.js";
import { SHORTCUTS, enable, enabled } from "./main.js";

const SHOWN = { ArrowDown: "↓", ArrowRight: "→", ArrowLeft: "←", Escape: "Esc" };

/** Show the help. */
export function showHelp() {
  const groups = Object.groupBy(Object.values(SHORTCUTS), ({ where }) => where);
  const box = el("input", { type: "checkbox", id: "single-keys", checked: enabled() });
  box.addEventListener("change", () => enable(box.checked));
  const lists = Object.entries(groups).map(([where, rows]) => [
    el("h3", {}, where),
    el(
      "dl",
      { class: "keys" },
      rows.map(({ keys, label }) =>
        el("div", {}, el("dt", {}, keys.map((key) => el("kbd", {}, SHOWN[key] ?? key))), el("dd", {}, label)),
      ),
    ),
  ]);
  const close = el("form", { method: "dialog", class: "row end" }, el("button", { class: "main", autofocus: true }, "Close"));
  return show("Keyboard shortcuts", [
    ...lists.flat(),
    el("div", { class: "field tick" }, box, el("label", { for: "single-keys" }, "Enable single-key shortcuts")),
    close,
  ]);
}
