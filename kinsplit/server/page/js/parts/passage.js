// A passage of the results.

import { el, freshId } from "../dom.js";
import { address } from "../router.js";
import * as shortcuts from "../shortcuts.js";
import { offers } from "./filters.js";
import { look } from "./look.js";
import { markedText } from "./marked.js";
import { breadcrumb, fileOf, kindOf } from "./place.js";
import { scoreBar } from "./scores.js";

/**
 * @param {object} passage Of GET /search.
 * @param {{strategy: string, most: object, heading?: string, add?: (condition: string) => void, note?: string}} shown
 *   The strategy asked, the largest scores, the heading's level, what adds a filter, and a remark.
 */
export function passageCard(passage, { strategy, most, heading = "h2", add, note }) {
  const [best] = passage.hits;
  const id = freshId("passage");
  const marks = passage.hits.flatMap((hit, rank) =>
    hit.ranges.map(({ utf16_start: start, utf16_end: end }) => ({ start, end, best: rank === 0 })),
  );
  const link = el(
    "a",
    { id: `open-${strategy}-${best.id}`, class: "open", href: address("document", { id: passage.source_id, strategy, chunk: best.id }) },
    el("bdi", {}, fileOf(passage.source_id)),
  );
  const related = passage.related.map(({ source_id: source, text }) =>
    el("details", {}, el("summary", {}, "Related: ", el("bdi", {}, fileOf(source))), markedText(text, [], kindOf(source))),
  );
  return el(
    "article",
    { class: "passage", "aria-labelledby": id },
    el(
      "header",
      {},
      el("span", { class: "rank", "aria-hidden": "true" }, String(passage.rank)),
      el("div", { class: "where" }, el(heading, { id }, link), breadcrumb(passage.source_id, passage.beside.headings ?? [], passage)),
      scoreBar(passage.score, passage.scores, most),
    ),
    look({ place: placeOf(passage, best, strategy), text: passage.text, marks, view: passage.view }),
    related,
    el(
      "footer",
      {},
      el("span", { class: "quiet" }, `Chunk ${best.chunk_index + 1} of ${best.total_chunks}`),
      note && el("span", { class: "note" }, note),
      add && offers(passage.metadata, add),
    ),
  );
}

function placeOf({ source_id: id, pages }, best, strategy) {
  return { id, strategy, start: best.start, end: best.end, pages: best.pages ?? pages };
}

/** Move the focus to the next passage of a view, or to the one before. */
export function hop(root, step) {
  const links = [...root.querySelectorAll(".passage .open")];
  if (!links.length) return;
  const at = links.findIndex((link) => link.closest(".passage").contains(document.activeElement));
  const to = at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step));
  links[to].focus({ preventScroll: true });
  links[to].closest(".passage").scrollIntoView({ block: "nearest" });
}

/** Register the shortcuts that move between passages and open one. */
export function hopByKey(root, signal) {
  shortcuts.on("next", () => hop(root, 1), signal);
  shortcuts.on("previous", () => hop(root, -1), signal);
  shortcuts.on("open", () => document.activeElement.closest(".passage")?.querySelector(".open").click(), signal);
}
