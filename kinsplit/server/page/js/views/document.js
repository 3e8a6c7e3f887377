// The Source view: a document with its chunks, and navigation to siblings, parents and children.

import { announce, el, empty, loading, reveal } from "../dom.js";
import { address, leave, onKey, restate } from "../main.js";
import { placeIn } from "../offsets.js";
import { ChunkedText } from "../parts/chunked.js";
import { facts, nameOf, spoken } from "../parts/facts.js";
import { Sheet } from "../parts/sheet.js";
import { breadcrumb, fileOf, kindOf, neighbourLink, titleOf } from "../passage.js";
import { documentOf, failed } from "../service.js";

export async function mount(root, params, { signal, state }) {
  const [id, strategy] = [params.get("id") ?? "", params.get("strategy")];
  const heading = el("h1", { tabindex: -1 }, el("bdi", {}, fileOf(id)));
  const body = el("div", {}, loading("Opening"));
  const back = el("a", { class: "back", href: address("documents", { strategy }) }, "Back");
  const place = el("div", { class: "heading" }, back, heading);
  root.append(place, body);
  state(fileOf(id));
  back.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    leave(back.hash);
  });
  onKey("back", () => leave(back.hash), signal);

  let source;
  try {
    source = await documentOf(id, strategy, signal);
  } catch (error) {
    if (!signal.aborted) body.replaceChildren(failed(error, () => location.reload()));
    return;
  }
  const { metadata } = source;
  const title = titleOf(id, metadata);
  heading.firstChild.textContent = title;
  state(title);
  const ends = { previous_file: "Previous", next_file: "Next" };
  const neighbours = Object.entries(ends).map(([key, label]) => metadata[key] && neighbourLink(label, metadata[key], strategy));
  place.append(
    el("p", { class: "quiet" }, el("bdi", {}, title === fileOf(id) ? "" : id)),
    ...[breadcrumb(id, metadata, {})].filter(Boolean),
    el("nav", { class: "neighbours", "aria-label": "Series" }, neighbours),
  );
  const chunks = new Map(source.chunks.map((chunk) => [chunk.id, chunk]));
  const marks = markOf(source, params.get("at"));
  const panel = el("aside", { class: "panel", "aria-label": "The part" });
  const sheet = new Sheet(source, () => sheet.showsChunks && bring());
  body.className = "reader";
  body.replaceChildren(sheet.element, panel);
  let level = null;
  let drawn = null;
  let now = null;

  const firstChild = (chunk) => source.chunks.find((each) => each.parent_id === chunk.id && each.level < chunk.level);
  const ways = {
    previous: ["Previous", "k", () => chunks.get(now.prev_id)],
    next: ["Next", "j", () => chunks.get(now.next_id)],
    parent: ["Section", "p", () => chunks.get(now.parent_id)],
    child: ["First part", "c", () => firstChild(now)],
  };
  for (const [name, [label, , find]] of Object.entries(ways)) {
    onKey(name, () => (find() ? pick(find()) : announce(`No ${label.toLowerCase()} here`)), signal);
  }

  const wanted = chunks.get(params.get("chunk"));
  const first = wanted ?? (marks.length ? chunkAt(source, marks[0]) : null) ?? source.chunks.find((chunk) => !chunk.level);
  if (params.has("chunk") && !wanted) panel.before(empty("This part no longer exists", el("p", {}, "The document has been indexed again.")));
  show(first);
  if (wanted || marks.length) bring();

  function pick(chunk) {
    show(chunk);
    bring();
    restate("document", { id, strategy, chunk: chunk.id });
    announce(spoken(chunk));
  }

  function show(chunk) {
    now = chunk;
    if (level !== chunk.level) {
      level = chunk.level;
      const own = source.chunks.filter((each) => each.level === level);
      drawn = new ChunkedText(source.text, own, { pick, marks, kind: kindOf(id), name: level ? "Section" : "Part" });
    }
    sheet.show(chunk, drawn.element);
    drawn.select(chunk);
    // Keep the focus on the pressed button.
    const pressed = panel.contains(document.activeElement) ? document.activeElement.dataset.way : null;
    panel.replaceChildren(
      el("p", { class: "file quiet" }, el("bdi", {}, fileOf(id))),
      el("h2", {}, nameOf(chunk)),
      el("div", { class: "ways" }, Object.entries(ways).map(([name, way]) => button(name, way))),
      facts(chunk),
    );
    if (pressed) panel.querySelector(`[data-way="${pressed}"]`).focus();
  }

  function button(name, [label, key, find]) {
    const act = () => find() && pick(find());
    // Not `disabled`, which would lose the focus at the end of a document.
    const state = { type: "button", data: { way: name }, "aria-disabled": find() ? null : "true", "aria-keyshortcuts": key };
    return el("button", { ...state, on: { click: act } }, label, " ", el("kbd", { "aria-hidden": "true" }, key));
  }

  function bring() {
    const edge = drawn.select(now);
    if (!edge || !sheet.showsChunks) return; // The document's text may lack this chunk.
    const seen = (now === first && drawn.element.querySelector("mark")) || edge;
    // Keep the focus on the buttons.
    if (panel.contains(document.activeElement)) seen.scrollIntoView({ block: "center" });
    else reveal(edge, seen);
  }
}

/** Return the ranges of a citation, "START-END" in the document, in its text. */
function markOf(source, at) {
  const [, start, end] = /^(\d+)-(\d+)$/.exec(at ?? "") ?? [];
  return start ? placeIn(source.text, source.spans, Number(start), Number(end)) : [];
}

/** Return the chunk in which a mark begins. */
function chunkAt(source, mark) {
  const holds = ({ utf16_start: start, utf16_end: end }) => start <= mark.start && mark.start < end;
  return source.chunks.find((chunk) => !chunk.level && chunk.ranges.some(holds));
}
