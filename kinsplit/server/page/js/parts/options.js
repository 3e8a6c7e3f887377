// Options for those who know how the search works, and the choice of a collection.

import { choice, counted, el, number, tick } from "../dom.js";
import { failed, strategies } from "../service.js";

/** Return the collections as options of a select field. */
export function collections(catalogue) {
  return catalogue.indexed.map(({ name, chunks }) => ({ value: name, label: `${name} · ${counted(chunks, "chunk")}` }));
}

/** Return the named collection, or the default one if it does not exist. */
export function usual(catalogue, wanted) {
  return (known(catalogue, wanted) ?? catalogue.indexed.find((row) => row.default) ?? catalogue.indexed[0]).name;
}

/** Return a select field for the collection, with a note if the wanted one does not exist; hidden without a choice. */
export function strategyChoice(catalogue, wanted, label = "Strategy", name = "strategy") {
  const isThere = !wanted || known(catalogue, wanted);
  const note = isThere ? null : `Nothing is indexed with “${wanted}” here; this is “${usual(catalogue, wanted)}”.`;
  const field = choice(label, name, collections(catalogue), usual(catalogue, wanted), note);
  field.hidden = catalogue.indexed.length < 2 && !note;
  return field;
}

function known(catalogue, wanted) {
  return catalogue.indexed.find(({ name, collection }) => [name, collection].includes(wanted));
}

/** Return a reranker as an option of a select field; its model reads every candidate. */
function reranker(name) {
  return { value: name, label: name === "none" ? name : `${name}, takes a second or more` };
}

/**
 * Return the form of the options.
 * @param {object} given The options as an address has them; without any, only the collection is offered.
 * @param {string} strategy The collection that is searched.
 * @param {(name: string, value: string|boolean) => void} set Called when an option changes.
 * @param {(strategy: string) => void} move Called when another collection is chosen.
 * @param {AbortSignal} signal
 */
export async function expertOptions(given, strategy, set, move, signal) {
  let catalogue;
  try {
    catalogue = await strategies(signal);
  } catch (error) {
    return [failed(error)];
  }
  const fields = [
    number("Siblings on each side", "window", given.window, { min: 0, max: 10, placeholder: "1, if they fit" }),
    choice("Rank by", "ranking", catalogue.rankings.map(({ name }) => name), given.ranking || "kin"),
    choice("Rerank by", "rerank", catalogue.rerankers.map(reranker), given.rerank || "none"),
    number("Diversity, from 0 to 1", "diversity", given.diversity, { min: 0, max: 1, step: 0.1, placeholder: "0" }),
    number("Budget in tokens", "budget", given.budget, { min: 1, max: 100000, placeholder: "none" }),
    number("Share of the budget for context", "context_share", given.context_share, {
      min: 0, max: 0.9, step: 0.1, placeholder: "what hits leave",
    }),
    tick("Whole parents instead of siblings", "parents", given.parents === "true"),
  ];
  const pick = strategyChoice(catalogue, strategy);
  const form = el("form", { class: "fields" }, pick, "ranking" in given && fields);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", ({ target }) => {
    if (target.name === "strategy") move(target.value);
    else set(target.name, target.type === "checkbox" ? target.checked && "true" : target.value);
  });
  return [form];
}
