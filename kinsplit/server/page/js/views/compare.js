// The Compare view: two strategies side by side.

import { announce, counted, el, empty, loading } from "../dom.js";
import { Steps, restate } from "../main.js";
import { strategyChoice, usual } from "../parts/options.js";
import { hop, hopByKey, passageCard } from "../passage.js";
import { largest, question } from "../search.js";
import { Latest, failed, search, strategies } from "../service.js";

export async function mount(root, params, { signal, state }) {
  let q = params.get("q") ?? "";
  const latest = new Latest(signal);
  const steps = new Steps(q);
  const sides = el("div", { class: "sides" });
  const typed = (text) => {
    q = text;
    latest.soon(run);
  };
  const down = () => hop(sides, 1);
  const form = question({
    value: q,
    action: "Compare",
    onType: typed,
    onSend: send,
    onDown: down,
  });
  root.append(el("h1", { class: "hidden-text", tabindex: -1 }, "Compare"), form, sides);

  let catalogue;
  try {
    catalogue = await strategies(signal);
  } catch (error) {
    if (!signal.aborted) sides.replaceChildren(failed(error, () => location.reload()));
    return;
  }
  if (catalogue.indexed.length < 2) {
    const how = el("code", {}, "kinsplit serve --collection first --collection second");
    sides.replaceChildren(
      empty("There is only one strategy", el("p", {}, "Index the same files with another strategy in a second collection, and run ", how, ".")),
    );
    return;
  }
  const left = usual(catalogue, params.get("a"));
  const other = catalogue.indexed.find(({ name }) => name !== left).name;
  const right = params.get("b") ?? other;
  const picks = el(
    "form",
    { class: "fields pair" },
    strategyChoice(catalogue, params.get("a"), "Left", "a"),
    strategyChoice(catalogue, right, "Right", "b"),
  );
  picks.addEventListener("change", () => latest.now(run));
  form.after(picks);
  hopByKey(sides, signal);
  await latest.ready(run);

  function send(text) {
    q = text;
    latest.now(run).then(() => steps.stay());
  }

  async function run(current) {
    const [a, b] = [picks.elements.a.value, picks.elements.b.value];
    restate("compare", { q, a, b }, steps.isNew(q));
    state(q);
    if (!q) {
      sides.replaceChildren(empty("Type a question", el("p", {}, "Both strategies answer it, side by side.")));
      return;
    }
    if (!sides.querySelector(".passage")) sides.replaceChildren(loading("Searching"), loading("Searching"));
    sides.setAttribute("aria-busy", "true");
    const asked = [a, b].map((strategy) => search({ q, strategy, top_k: 5 }, current));
    const answers = await Promise.allSettled(asked);
    current.throwIfAborted();
    sides.removeAttribute("aria-busy");
    const found = answers.map(({ value }) => value?.passages ?? []);
    sides.replaceChildren(...answers.map((answer, at) => side([a, b][at], answer, found[1 - at])));
    announce(`${a}: ${counted(found[0].length, "passage")}. ${b}: ${counted(found[1].length, "passage")}.`);
  }

  function side(strategy, { value, reason }, others) {
    const passages = value?.passages ?? [];
    const most = largest(passages);
    const cards = passages.map((passage) =>
      el("li", {}, passageCard(passage, { strategy, most, heading: "h3", note: elsewhere(passage, others) })),
    );
    return el(
      "section",
      { "aria-label": `Passages by ${strategy}` },
      el("h2", {}, strategy),
      reason && failed(reason, () => latest.now(run)),
      value && !cards.length && empty("Nothing found"),
      el("ol", { class: "passages" }, cards),
    );
  }
}

/** Return the rank at which the other strategy found the same part of the document. */
function elsewhere({ source_id: source, spans }, others) {
  const meets = (one, two) => one[0] < two[1] && two[0] < one[1];
  const same = others.find((other) => other.source_id === source && other.spans.some((two) => spans.some((one) => meets(one, two))));
  return same ? `Rank ${same.rank} there` : "Only here";
}
