// How to search: strategy, numbers, reranking, filters.

import { counted, el } from "../dom.js";
import { choice, line, number, tick } from "./fields.js";
import { holding } from "./filters.js";

const NAMES = ["top_k", "window", "rerank", "parents", "budget"];

/** The indexed strategies for a choice. */
export function indexed(catalogue) {
  return catalogue.indexed.map(({ name, chunks }) => ({ value: name, label: `${name} · ${counted(chunks, "chunk")}` }));
}

/** Name of the strategy that is asked where none, or one that is gone, is named. */
export function usual(catalogue, wanted) {
  const known = catalogue.indexed.find(({ name, collection }) => [name, collection].includes(wanted));
  return (known ?? catalogue.indexed.find((row) => row.default) ?? catalogue.indexed[0]).name;
}

export class Options {
  /**
   * @param {object} catalogue What GET /strategies says.
   * @param {URLSearchParams} params
   * @param {() => void} onChange
   */
  constructor(catalogue, params, onChange) {
    this.where = params.getAll("where");
    this.onChange = onChange;
    this.form = el(
      "form",
      { class: "fields" },
      choice("Strategy", "strategy", indexed(catalogue), usual(catalogue, params.get("strategy"))),
      number("Passages", "top_k", params.get("top_k") ?? 5, { min: 1, max: 50 }),
      number("Siblings on each side", "window", params.get("window") ?? 1, { min: 0, max: 10 }),
      choice("Rerank by", "rerank", catalogue.rerankers, params.get("rerank") ?? "none"),
      number("Budget in tokens", "budget", params.get("budget"), { min: 1, max: 100000, placeholder: "none" }),
      tick("Whole parents instead of siblings", "parents", params.get("parents") === "true"),
    );
    this.adding = el(
      "form",
      { class: "adding" },
      line("Filter", "where", "", { placeholder: "course=cs", hint: "Also with !=, <, <=, > or >=." }),
      el("button", { type: "submit" }, "Add"),
    );
    this.form.addEventListener("change", onChange);
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.adding.addEventListener("submit", (event) => {
      event.preventDefault();
      this.add(this.adding.elements.where.value.trim());
      this.adding.elements.where.value = "";
    });
    this.chips = el("div");
    this.element = el(
      "div",
      { class: "options" },
      el("details", {}, el("summary", {}, "Options and filters"), this.form, this.adding),
      this.chips,
    );
    this.#draw();
  }

  /** Filter by one more condition. */
  add(condition) {
    if (!condition || this.where.includes(condition)) return;
    this.where.push(condition);
    this.#changed();
  }

  /** The parameters of GET /search, without the question. */
  values() {
    const { elements } = this.form;
    const values = { strategy: elements.strategy.value, where: [...this.where] };
    for (const name of NAMES) values[name] = name === "parents" ? elements.parents.checked : elements[name].value;
    return { ...values, top_k: values.top_k || 5, window: values.window || 0, parents: values.parents || null };
  }

  #changed() {
    this.#draw();
    this.onChange();
  }

  #draw() {
    const remove = (condition) => {
      this.where = this.where.filter((each) => each !== condition);
      this.#changed();
    };
    this.chips.replaceChildren(holding(this.where, remove));
  }
}
