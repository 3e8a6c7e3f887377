// Metadata filters: course, subject, file type, or any other key.

import * as api from "../api.js";
import { counted, el } from "../dom.js";
import { choice, line } from "./fields.js";

/** Keys offered on passages and listed first, with their labels. */
const OFFERED = { course: "course", subject: "subject", file_type: "type" };
/** Keys that group files, which make no useful filters. */
const KIN = ["file_path", "group_id", "sibling_files"];
/** Number of values for which a key is offered. */
const [FEWEST, MOST] = [2, 40];
const MOST_CHOICES = 6;

/** The active filters (`chips`), and the fields to add more (`fields`). */
export class Filters {
  #onChange;
  #keys = [];
  #choices = el("div", { class: "fields", hidden: true });
  #asked = null;

  /**
   * @param {string[]} where Conditions such as "course=cs".
   * @param {() => void} onChange
   */
  constructor(where, onChange) {
    this.where = where;
    this.#onChange = onChange;
    this.chips = el("div");
    const adding = el(
      "form",
      { class: "adding" },
      line("Filter", "where", "", { placeholder: "course=cs", hint: "Also with !=, <, <=, > or >=." }),
      el("button", { type: "submit" }, "Add"),
    );
    adding.addEventListener("submit", (event) => {
      event.preventDefault();
      this.add(adding.elements.where.value.trim());
      adding.elements.where.value = "";
    });
    this.fields = el("div", {}, this.#choices, adding);
    this.#draw();
  }

  /** Offer the metadata of a strategy's documents. */
  async load(strategy, signal) {
    this.#asked = strategy;
    try {
      const { keys } = await api.filters({ strategy }, signal);
      if (this.#asked !== strategy) return;
      this.#keys = useful(keys);
      this.#draw();
    } catch (error) {
      if (signal.aborted || this.#asked !== strategy) return;
      this.#choices.hidden = false;
      this.#choices.replaceChildren(el("p", { class: "hint" }, `The filters could not be loaded: ${error.message}.`));
    }
  }

  /** Add a condition. */
  add(condition) {
    if (condition && !this.where.includes(condition)) this.#change([...this.where, condition]);
  }

  #change(where) {
    this.where = where;
    this.#draw();
    this.#onChange();
  }

  #draw() {
    this.chips.replaceChildren(holding(this.where, (condition) => this.#change(this.where.filter((each) => each !== condition))));
    const focused = this.#choices.contains(document.activeElement) ? document.activeElement.name : null;
    this.#choices.replaceChildren(...this.#keys.map((row) => this.#choice(row)));
    this.#choices.hidden = !this.#keys.length;
    if (focused) this.#choices.querySelector(`[name="${CSS.escape(focused)}"]`)?.focus();
  }

  #choice({ key, values }) {
    const name = OFFERED[key] ?? key.replaceAll("_", " ");
    const prefix = `${key}=`;
    const held = this.where.filter((condition) => condition.startsWith(prefix)).map((condition) => condition.slice(prefix.length));
    const rows = values.map(({ value, documents }) => ({ value: String(value), label: `${value} · ${counted(documents, "document")}` }));
    if (held.length === 1 && !rows.some(({ value }) => value === held[0])) rows.unshift({ value: held[0], label: held[0] });
    const first = held.length > 1 ? "Several" : "Any";
    const field = choice(name[0].toUpperCase() + name.slice(1), key, [{ value: "", label: first }, ...rows], held.length === 1 ? held[0] : "");
    field.addEventListener("change", ({ target }) => {
      const others = this.where.filter((condition) => !condition.startsWith(prefix));
      this.#change(target.value ? [...others, prefix + target.value] : others);
    });
    return field;
  }
}

/** Return the keys worth offering: known keys first, then others whose values several documents share. */
function useful(keys) {
  const known = Object.keys(OFFERED);
  const position = ({ key }) => (known.includes(key) ? known.indexOf(key) : known.length);
  const isShared = ({ distinct, values }) => values.reduce((sum, { documents }) => sum + documents, 0) >= 2 * distinct;
  const few = keys.filter(({ key, distinct }) => distinct >= FEWEST && distinct <= MOST && !KIN.includes(key));
  return few.filter((row) => known.includes(row.key) || isShared(row)).sort((one, other) => position(one) - position(other)).slice(0, MOST_CHOICES);
}

/**
 * Return buttons that filter by the metadata of a document.
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

function holding(conditions, remove) {
  const rows = conditions.map((condition) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "chip on", "aria-label": `Remove the filter ${condition}`, on: { click: () => remove(condition) } },
        el("bdi", {}, condition),
        el("span", { "aria-hidden": "true" }, " ×"),
      ),
    ),
  );
  return el("ul", { class: "chips", "aria-label": "Filters", hidden: !rows.length }, rows);
}
