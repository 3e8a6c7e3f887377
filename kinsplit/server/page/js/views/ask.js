// The Ask view: a streamed answer with citations.

import { announce, el, empty, loading } from "../dom.js";
import { Steps, address, onKey, restate } from "../main.js";
import { checked, evidenceOf, marker, verdictOf } from "../parts/answer.js";
import { sourceCard } from "../parts/source.js";
import { hopByKey } from "../passage.js";
import { Scope, opened, question } from "../search.js";
import { Latest, ask, failed, problemIn } from "../service.js";
import { events } from "../sse.js";

// The last answer, kept for going back from a source.
let last = null;

export async function mount(root, params, { signal, state }) {
  const latest = new Latest(signal);
  const steps = new Steps(params.get("q") ?? "");
  const stop = el("button", { type: "button", hidden: true, on: { click: halt } }, "Stop");
  const form = question({ value: params.get("q") ?? "", action: "Ask", onSend: (text) => text && latest.now((current) => run(text, current)) }, stop);
  const answer = el("section", { class: "answer", "aria-label": "Answer" });
  const sources = el("section", { class: "results", "aria-label": "Sources" });
  root.append(el("h1", { class: "hidden-text", tabindex: -1 }, "Ask"), form, answer, sources);
  const indexed = await opened(answer, params, signal);
  if (!indexed) return;
  const scope = new Scope(indexed, params, () => {}, signal);
  form.after(scope.element);
  hopByKey(sources, signal);
  onKey("back", () => stop.hidden || halt(), signal);
  signal.addEventListener("abort", () => latest.stop());

  const q = params.get("q");
  const isKept = last?.address === address("ask", { q, strategy: scope.strategy, where: scope.where });
  if (!q) answer.replaceChildren(empty("Ask a question", el("p", {}, "The answer cites the passages that support it.")));
  else if (isKept) finish(last.answer, last.sources, last.strategy);
  latest.ready(q && !isKept && ((current) => run(q, current))); // The view is there while the answer comes.

  async function run(text, current) {
    const where = scope.where;
    const [asked, strategy] = [{ q: text, strategy: scope.strategy, where }, scope.indexed.strategy];
    restate("ask", asked, steps.isNew(text));
    steps.stay();
    state(text);
    const body = el("div", { class: "text", dir: "auto" });
    const notices = el("div");
    let found = [];
    let finished = false;
    stop.hidden = false;
    sources.replaceChildren();
    answer.replaceChildren(loading("Looking for passages"));
    answer.setAttribute("aria-busy", "true");
    announce("Looking for passages");
    try {
      const response = await ask({ question: text, strategy, where, render: true }, current);
      for await (const { event, data } of events(response)) {
        current.throwIfAborted();
        if (event === "sources") {
          found = data.sources;
          showSources(found, strategy);
          announce("Answering");
          answer.replaceChildren(notices, body);
        } else if (event === "text") body.append(data.text);
        else if (event === "citation") body.append(marker(data.text, data.citations, strategy));
        else if (event === "notice") notices.append(el("p", { class: "notice" }, data.message));
        else if (event === "error") throw problemIn(data);
        else if (event === "finished") {
          finished = true;
          last = { address: address("ask", asked), strategy, sources: found, answer: data };
          finish(data, found, strategy);
        }
      }
      if (!finished) notices.append(el("p", { class: "notice" }, "The answer is incomplete."));
    } catch (error) {
      if (signal.aborted) return;
      if (current.aborted) {
        // Another question may have come since; then this is no longer its place.
        if (body.isConnected) body.append(el("p", { class: "notice" }, "Stopped."));
        else if (answer.querySelector(".loading")) answer.replaceChildren(empty("Stopped"));
        return;
      }
      const box = failed(error, () => latest.now((again) => run(text, again)));
      if (body.textContent) answer.append(box);
      else answer.replaceChildren(box);
    } finally {
      if (!current.aborted) done();
    }
  }

  function halt() {
    latest.stop();
    done();
    announce("Stopped");
    form.querySelector("input").focus();
  }

  function done() {
    stop.hidden = true;
    answer.removeAttribute("aria-busy");
  }

  function showSources(rows, strategy, marks = new Map(), views = {}) {
    const cards = rows.map((source) => el("li", {}, sourceCard(source, strategy, marks.get(source.number), views[source.number])));
    sources.replaceChildren(el("h2", {}, rows.length ? "Sources" : ""), el("ol", { class: "passages" }, cards));
  }

  function finish(data, rows, strategy) {
    const { line, words } = verdictOf(data.verdict);
    const notices = data.notices.map(({ message }) => el("p", { class: "notice" }, message));
    const by = data.model && el("p", { class: "quiet" }, `Written by ${data.model}. It may be wrong; check the sources.`);
    const text = el("div", { class: "text", dir: "auto" }, checked(data, strategy));
    answer.replaceChildren(...notices, text, line, by || "");
    showSources(rows, strategy, evidenceOf(data), data.views);
    announce(`The answer is complete. ${words}`);
  }
}
