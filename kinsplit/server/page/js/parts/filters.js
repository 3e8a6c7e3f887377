// Filters by what is known of documents: course, subject, file type, or anything else.

import { el } from "../dom.js";

/** What is offered on a passage, with its name. */
const OFFERED = { course: "course", subject: "subject", file_type: "type" };

/**
 * Return buttons that filter by what is known of a document.
 * @param {object} metadata
 * @param {(condition: string) => void} add
 */
export function offers(metadata, add) {
  const known = Object.entries(OFFERED).filter(([key]) => ["string", "number"].includes(typeof metadata[key]));
  return known.map(([key, name]) =>
    el(
      "button",
      { type: "button", class: "chip", title: `Search only where ${name} is this`, on: { click: () => add(`${key}=${metadata[key]}`) } },
      el("span", { class: "quiet" }, name),
      " ",
      el("bdi", {}, String(metadata[key])),
    ),
  );
}

/**
 * Return the filters that hold, each with a button that takes it away.
 * @param {string[]} conditions
 * @param {(condition: string) => void} remove
 */
export function holding(conditions, remove) {
  const rows = conditions.map((condition) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "chip on", "aria-label": `Take away the filter ${condition}`, on: { click: () => remove(condition) } },
        el("bdi", {}, condition),
        el("span", { "aria-hidden": "true" }, " ×"),
      ),
    ),
  );
  return el("ul", { class: "chips", "aria-label": "Filters", hidden: !rows.length }, rows);
}
