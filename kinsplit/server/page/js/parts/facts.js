// Details of a chunk.

import { el } from "../dom.js";
import { pagesOf } from "../passage.js";

/** Return a chunk's name: "Part 3 of 12", "Section 1 of 4". */
export function nameOf(chunk, [part, section] = ["Part", "Section"]) {
  return `${chunk.level ? section : part} ${chunk.chunk_index + 1} of ${chunk.total_chunks}`;
}

function headingsOf(chunk) {
  return chunk.beside.headings ?? [];
}

/** Return the description of a chunk for screen readers. */
export function spoken(chunk) {
  return [nameOf(chunk), headingsOf(chunk).join(", "), pagesOf(chunk.pages)].filter(Boolean).join(", ");
}

/** Return a list of the details of a chunk. */
export function facts(chunk) {
  const number = (value) => value.toLocaleString("en");
  const rows = [
    ["Headings", headingsOf(chunk).join(" › ")],
    ["Pages", pagesOf(chunk.pages)],
    ["Characters", chunk.spans.map(([start, end]) => `${number(start)}–${number(end)}`).join(", ")],
    ["Length", `${number(chunk.spans.reduce((sum, [start, end]) => sum + end - start, 0))} characters`],
    ["Tokens", chunk.token_count === null ? "" : number(chunk.token_count)],
    ["Overlap", chunk.overlap ? `${number(chunk.overlap)} characters` : ""],
    ["Level", chunk.level ? String(chunk.level) : ""],
  ];
  return el(
    "dl",
    { class: "facts" },
    rows.filter(([, value]) => value).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, el("bdi", {}, value)))),
  );
}
