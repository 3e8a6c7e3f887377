// A numbered source of an answer.

import { el } from "../dom.js";
import { breadcrumb, copyButton, documentAddress, look, titleOf } from "../passage.js";

/**
 * @param {object} source Of the event `sources` of POST /ask.
 * @param {string} strategy
 * @param {{start: number, end: number}[]} [marks] The cited ranges, in UTF-16 units of its text.
 * @param {object|null} [view] How it can be shown with the cited ranges marked.
 */
export function sourceCard(source, strategy, marks = [], view = source.view) {
  // A citation of the whole text needs no mark.
  const narrow = marks.filter(({ start, end }) => end - start < 0.9 * source.text.length);
  const { number, source_id: id, chunk_id: chunk, pages, location } = source;
  const link = el(
    "a",
    { id: `open-${number}`, class: "open", href: documentAddress(id, strategy, { chunk }) },
    el("bdi", {}, titleOf(source.file ?? id, source)),
  );
  const crumbs = breadcrumb(id, source, { ...source, headings: source.beside.headings });
  const place = { id, strategy, start: source.start, end: source.end, pages };
  const { body, bar } = look({ place, text: source.text, marks: narrow, view });
  return el(
    "article",
    { class: "passage", id: `source-${number}`, tabindex: -1, "aria-labelledby": `source-${number}-name` },
    el(
      "header",
      {},
      el("span", { class: "rank", "aria-hidden": "true" }, String(number)),
      el(
        "div",
        { class: "where" },
        el("h3", { id: `source-${number}-name` }, el("span", { class: "hidden-text" }, `Source ${number}: `), link),
        crumbs,
      ),
    ),
    body,
    el("footer", {}, copyButton(source.text, `${location} (${source.file ?? id})`), bar.children.length ? bar : null),
  );
}
