// The Search view: results as you type.

import * as api from "../api.js";
import { announce, counted, el } from "../dom.js";
import { Latest } from "../latest.js";
import { Options } from "../parts/options.js";
import { hop, hopByKey, passageCard } from "../parts/passage.js";
import { question } from "../parts/question.js";
import { largest } from "../parts/scores.js";
import { empty, failed, loading } from "../parts/states.js";
import { address, restate } from "../router.js";
import { Steps } from "../steps.js";

export const title = "Search";

export async function mount(root, params, { signal, state }) {
  let q = params.get("q") ?? "";
  const latest = new Latest(signal);
  const steps = new Steps(q);
  const results = el("section", { class: "results", "aria-label": "Passages" });
  const asking = el("a", { class: "button" }, "Answer it");
  const down = () => hop(results, 1);
  const form = question(
    { value: q, action: "Search", onType: typed, onSend: send, onDown: down },
    asking,
  );
  root.append(el("h1", { class: "hidden-text", tabindex: -1 }, title), form, results);

  let catalogue;
  try {
    catalogue = await api.strategies(signal);
  } catch (error) {
    if (!signal.aborted) results.replaceChildren(failed(error, () => location.reload()));
    return;
  }
  const options = new Options(catalogue, params, () => latest.now(run), signal);
  form.after(options.element);
  hopByKey(results, signal);
  await latest.ready(run);

  function typed(text) {
    q = text;
    latest.soon(run);
  }

  function send(text) {
    q = text;
    latest.now(run).then(() => steps.stay());
  }

  async function run(current) {
    const wanted = { q, ...options.values() };
    asking.href = address("ask", { q, strategy: wanted.strategy, where: wanted.where });
    restate("search", wanted, steps.isNew(q));
    state(q);
    if (!q) {
      results.removeAttribute("aria-busy");
      results.replaceChildren(welcome(catalogue));
      return;
    }
    results.setAttribute("aria-busy", "true");
    if (!results.querySelector(".passage")) results.replaceChildren(loading("Searching"));
    try {
      const answer = await api.search(wanted, current);
      current.throwIfAborted();
      show(answer);
    } catch (error) {
      if (current.aborted) return;
      results.replaceChildren(failed(error, () => latest.now(run)));
    }
    results.removeAttribute("aria-busy");
  }

  function show({ passages, strategy, notices }) {
    const found = passages.length ? counted(passages.length, "passage") : "No passage";
    const said = `${found} found by ${strategy}`;
    announce(said);
    if (!passages.length) {
      const remedy = options.filters.where.length ? "Remove a filter, or rephrase the question." : "Rephrase the question.";
      results.replaceChildren(empty("Nothing found", ...[...notices, remedy].map((line) => el("p", {}, line))));
      return;
    }
    const most = largest(passages);
    const add = (condition) => options.filters.add(condition);
    const cards = passages.map((passage) => el("li", {}, passageCard(passage, { strategy, most, add })));
    const focused = results.contains(document.activeElement) ? document.activeElement.id : null;
    results.replaceChildren(el("p", { class: "count" }, said), el("ol", { class: "passages" }, cards));
    // A passage that is still there keeps the focus.
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

function welcome({ indexed }) {
  const all = indexed.find((row) => row.default) ?? indexed[0];
  if (!all.documents) return empty("Nothing is indexed yet", el("p", {}, "Run ", el("code", {}, "kinsplit index PATHS"), "."));
  const size = `${counted(all.documents, "document")}, ${counted(all.chunks, "chunk")}`;
  return empty(
    "Type a question, or a few words",
    el("p", {}, `${size}. Results appear as you type.`),
    el("p", {}, el("kbd", {}, "↓"), " moves to the passages, ", el("kbd", {}, "?"), " shows all shortcuts."),
  );
}
