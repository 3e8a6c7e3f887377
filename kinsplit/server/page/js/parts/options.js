// Search options: strategy, limits, ranking, reranking and filters.

import { counted, el } from "../dom.js";
import { choice, number, tick } from "./fields.js";
import { Filters } from "./filters.js";

const NAMES = ["top_k", "window", "ranking", "rerank", "diversity", "parents", "budget", "context_share"];

/** Return the indexed strategies as options of a select field. */
export function indexed(catalogue) {
  return catalogue.indexed.map(({ name, chunks }) => ({ value: name, label: `${name} · ${counted(chunks, "chunk")}` }));
}

/** Return the named strategy, or the default one if it does not exist. */
export function usual(catalogue, wanted) {
  return (known(catalogue, wanted) ?? catalogue.indexed.find((row) => row.default) ?? catalogue.indexed[0]).name;
}

/** Return a note that the named strategy does not exist here; null if it does, or if none is named. */
export function substitute(catalogue, wanted) {
  if (!wanted || known(catalogue, wanted)) return null;
  return `Nothing is indexed with “${wanted}” here; this is “${usual(catalogue, wanted)}”.`;
}

/** Return a select field for the strategy, with a note if the wanted one does not exist. */
export function strategyChoice(catalogue, wanted, label = "Strategy", name = "strategy") {
  return choice(label, name, indexed(catalogue), usual(catalogue, wanted), substitute(catalogue, wanted));
}

function known(catalogue, wanted) {
  return catalogue.indexed.find(({ name, collection }) => [name, collection].includes(wanted));
}

/** Return a reranker as an option of a select field; its model reads every candidate. */
function reranker(name) {
  return { value: name, label: name === "none" ? name : `${name}, takes a second or more` };
}

export class Options {
  /**
   * @param {object} catalogue Response of GET /strategies.
   * @param {URLSearchParams} params
   * @param {() => void} onChange
   * @param {AbortSignal} signal Of the view.
   */
  constructor(catalogue, params, onChange, signal) {
    this.filters = new Filters(params.getAll("where"), onChange);
    this.form = el(
      "form",
      { class: "fields" },
      choice("Strategy", "strategy", indexed(catalogue), usual(catalogue, params.get("strategy"))),
      number("Passages", "top_k", params.get("top_k"), { min: 1, max: 50, placeholder: "5, or as many as fit" }),
      number("Siblings on each side", "window", params.get("window"), { min: 0, max: 10, placeholder: "1, if they fit" }),
      choice("Rank by", "ranking", catalogue.rankings.map(({ name }) => name), params.get("ranking") ?? "kin"),
      choice("Rerank by", "rerank", catalogue.rerankers.map(reranker), params.get("rerank") ?? "none"),
      number("Diversity, from 0 to 1", "diversity", params.get("diversity"), { min: 0, max: 1, step: 0.1, placeholder: "0" }),
      number("Budget in tokens", "budget", params.get("budget"), { min: 1, max: 100000, placeholder: "none" }),
      number("Share of the budget for context", "context_share", params.get("context_share"), {
        min: 0, max: 0.9, step: 0.1, placeholder: "what hits leave",
      }),
      tick("Whole parents instead of siblings", "parents", params.get("parents") === "true"),
    );
    const load = () => this.filters.load(this.form.elements.strategy.value, signal);
    this.form.elements.strategy.addEventListener("change", load);
    this.form.addEventListener("change", onChange);
    this.form.addEventListener("submit", (event) => event.preventDefault());
    // Outside the details, which are closed at first.
    const note = substitute(catalogue, params.get("strategy"));
    this.element = el(
      "div",
      { class: "options" },
      note && el("p", { class: "hint", role: "status" }, note),
      el("details", {}, el("summary", {}, "Options and filters"), this.form, this.filters.fields),
      this.filters.chips,
    );
    load();
  }

  /** The parameters of GET /search, without the question. */
  values() {
    const { elements } = this.form;
    const values = { strategy: elements.strategy.value, where: [...this.filters.where] };
    for (const name of NAMES) values[name] = name === "parents" ? elements.parents.checked : elements[name].value;
    // A budget alone limits the number of passages.
    const top_k = values.top_k || (values.budget ? null : 5);
    return { ...values, top_k, parents: values.parents || null };
  }
}
