// The Cut view: chunks of a pasted text.

import { announce, choice, counted, el, empty, loading } from "../dom.js";
import { restate } from "../main.js";
import { ChunkedText } from "../parts/chunked.js";
import { facts, nameOf } from "../parts/facts.js";
import { filledIn, parameterFields } from "../parts/parameters.js";
import { lengths, strip } from "../parts/strip.js";
import { Latest, chunk, failed, session, strategies } from "../service.js";

const LONGEST = 200_000;
const NAMES = ["Chunk", "Parent"];

export async function mount(root, params, { signal }) {
  const latest = new Latest(signal);
  const area = el("textarea", { id: "text", rows: 9, dir: "auto", maxlength: LONGEST, spellcheck: "false", data: { first: "" } });
  area.value = session.get("text") ?? "";
  const every = el("button", { type: "button", on: { click: () => latest.now(compare) } }, "Cut with every strategy");
  const result = el("section", { class: "cut-result", "aria-label": "Chunks" });
  const form = el("form", { class: "cut-form" });
  root.append(
    el("h1", { tabindex: -1 }, "See how a text is cut"),
    el("div", { class: "field" }, el("label", { for: "text" }, "Text"), area, el("p", { class: "hint" }, "The text is not stored or indexed.")),
    form,
    result,
  );
  let catalogue;
  try {
    catalogue = await strategies(signal);
  } catch (error) {
    if (!signal.aborted) result.replaceChildren(failed(error, () => location.reload()));
    return;
  }
  const known = catalogue.strategies;
  let strategy = known.find(({ name }) => name === params.get("strategy")) ?? known.find(({ name }) => name === "sentence") ?? known[0];
  const pick = choice("Strategy", "strategy", known.map(({ name }) => name), strategy.name);
  const about = el("p", { class: "hint" });
  const details = el("details", {}, el("summary", {}, "Parameters"), "");
  form.append(el("div", { class: "row" }, pick, every), about, details);
  fill(params);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", ({ target }) => {
    if (target.name === "strategy") take(target.value);
    else latest.now(cut);
  });
  area.addEventListener("input", () => {
    session.set("text", area.value);
    latest.soon(cut, 350);
  });
  await latest.ready(cut);

  function fill(given) {
    about.textContent = `${strategy.summary}.`;
    details.lastChild.replaceWith(parameterFields(strategy));
    for (const [name, value] of given) {
      const input = form.elements[name.startsWith("p.") ? name : ""];
      if (input?.type === "checkbox") input.checked = value === "true";
      else if (input) input.value = value;
    }
  }

  function take(name) {
    strategy = known.find((each) => each.name === name);
    form.elements.strategy.value = name;
    fill([]);
    latest.now(cut);
  }

  async function cut(current) {
    const parameters = filledIn(strategy, form);
    const named = Object.entries(parameters).map(([name, value]) => [`p.${name}`, Array.isArray(value) ? value.join(" ") : String(value)]);
    restate("cut", { strategy: strategy.name, ...Object.fromEntries(named) });
    const text = area.value;
    if (!text.trim()) {
      result.replaceChildren(empty("Paste a text, or type one", el("p", {}, "Its chunks are drawn here as you type.")));
      return;
    }
    result.setAttribute("aria-busy", "true");
    if (!result.querySelector(".chunked")) result.replaceChildren(loading("Cutting"));
    try {
      const { chunks } = await chunk({ text, strategy: strategy.name, parameters }, current);
      current.throwIfAborted();
      show(text, chunks);
    } catch (error) {
      if (current.aborted) return;
      result.replaceChildren(failed(error, () => latest.now(cut)));
    }
    result.removeAttribute("aria-busy");
  }

  function show(text, chunks) {
    const levels = [...new Set(chunks.map(({ level }) => level))].sort((a, b) => a - b);
    const panel = el("aside", { class: "panel", "aria-label": "The chunk" }, el("p", { class: "quiet" }, "Click a chunk to see its details."));
    const sheet = el("div", { class: "sheet colourful" });
    const count = el("p", { class: "count" });
    const seen = choice("Level", "level", levels.map((level) => ({ value: String(level), label: level ? `parents, level ${level}` : "chunks" })), "0");
    const draw = () => {
      const own = chunks.filter(({ level }) => String(level) === seen.querySelector("select").value);
      const [fewest, middle, most] = lengths(own);
      count.textContent = `${counted(own.length, "chunk")} of ${fewest} to ${most} characters, median ${middle}`;
      const drawn = new ChunkedText(text, own, {
        pick: (picked) => {
          drawn.select(picked);
          panel.replaceChildren(el("h2", {}, nameOf(picked, NAMES)), facts(picked));
          announce(nameOf(picked, NAMES));
        },
      });
      sheet.replaceChildren(drawn.element);
      announce(count.textContent);
    };
    seen.hidden = levels.length < 2;
    seen.addEventListener("change", draw);
    draw();
    result.replaceChildren(count, seen, el("div", { class: "reader" }, sheet, panel));
  }

  async function compare(current) {
    const text = area.value;
    if (!text.trim()) {
      area.focus();
      return;
    }
    const rows = known.map(({ name }) => el("tr", {}, el("th", { scope: "row" }, name), el("td", { colspan: 3, class: "quiet" }, "…")));
    const head = ["Strategy", "Chunks", "Characters", "Where it cuts"].map((label) => el("th", { scope: "col" }, label));
    const table = el("table", {}, el("caption", {}, "Every strategy with its default parameters"), el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows));
    result.replaceChildren(el("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Every strategy" }, table));
    // One request at a time, since the service has few threads.
    for (const [at, { name }] of known.entries()) {
      let cells;
      try {
        const { chunks } = await chunk({ text, strategy: name }, current);
        const leaves = chunks.filter(({ level }) => !level);
        const [fewest, middle, most] = lengths(leaves);
        const sizes = fewest === most ? String(most) : `${fewest} – ${middle} – ${most}`;
        cells = [el("td", {}, String(leaves.length)), el("td", {}, sizes), el("td", { class: "wide" }, strip(text, leaves))];
      } catch (error) {
        if (current.aborted) return;
        cells = [el("td", { colspan: 3, class: "problem" }, `${error.message}. ${error.remedy ?? ""}`)];
      }
      const button = el("button", { type: "button", class: "plain", on: { click: () => take(name) } }, name);
      rows[at].replaceChildren(el("th", { scope: "row" }, button), ...cells);
    }
    announce(`${counted(known.length, "strategy").replace("strategys", "strategies")} done`);
  }
}
