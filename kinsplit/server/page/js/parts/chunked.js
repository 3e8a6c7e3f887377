// A text with its chunk boundaries.

import { el } from "../dom.js";
import { segments } from "../passage.js";

const HUES = 6;

export class ChunkedText {
  #segments = new Map();
  #edges = new Map();
  #selected = null;

  /**
   * @param {string} text
   * @param {object[]} chunks Chunks of one level, in text order.
   * @param {{pick: (chunk: object) => void, marks?: {start: number, end: number}[], kind?: string, name?: string}} given Handler for
   *   clicks on a chunk, ranges to mark, "code" for code, and what a chunk is called.
   */
  constructor(text, chunks, { pick, marks = [], kind = "", name = "Chunk" }) {
    const ranges = chunks.flatMap((chunk, at) =>
      chunk.ranges.map((range, part) => ({ start: range.utf16_start, end: range.utf16_end, owner: { chunk, at, part } })),
    );
    const marked = marks.map((mark) => ({ ...mark, owner: null }));
    this.element = el("div", { class: `text chunked ${kind}`, dir: "auto" });
    const begun = new Set();
    for (const { start, end, owners } of segments([...ranges, ...marked], 0, text.length)) {
      const all = owners.filter(Boolean);
      for (const owner of all) {
        if (begun.has(owner)) continue;
        begun.add(owner);
        this.element.append(this.#edge(owner, pick, name));
      }
      this.element.append(this.#piece(text.slice(start, end), all, owners.includes(null)));
    }
    this.element.addEventListener("click", (event) => {
      const piece = event.target.closest("[data-at]");
      // Selecting text is not a click on a chunk.
      if (piece && getSelection().isCollapsed) pick(chunks[Number(piece.dataset.at)]);
    });
  }

  /** Highlight a chunk and return its first element. */
  select(chunk) {
    for (const piece of this.#segments.get(this.#selected) ?? []) piece.classList.remove("current");
    this.#edges.get(this.#selected)?.removeAttribute("aria-current");
    for (const piece of this.#segments.get(chunk.id) ?? []) piece.classList.add("current");
    const edge = this.#edges.get(chunk.id);
    edge?.setAttribute("aria-current", "true");
    this.#selected = chunk.id;
    return edge ?? null;
  }

  #edge({ chunk, part }, pick, name) {
    const number = chunk.chunk_index + 1;
    const label = `${name} ${number}${part ? " goes on" : ""}`;
    const edge = el(
      "button",
      { type: "button", class: "edge", tabindex: -1, "aria-label": label, on: { click: (event) => (event.stopPropagation(), pick(chunk)) } },
      // Drawn by the style sheet, so that it is not copied with the text.
      el("span", { data: { number: part ? `${number}…` : number } }),
    );
    if (!part) this.#edges.set(chunk.id, edge);
    return edge;
  }

  #piece(text, owners, isMarked) {
    if (!owners.length && !isMarked) return document.createTextNode(text);
    const last = owners.at(-1);
    const shared = owners.length > 1 ? " shared" : "";
    const piece = el(isMarked ? "mark" : "span", { class: last ? `piece hue-${last.at % HUES}${shared}` : "cited" }, text);
    if (last) piece.dataset.at = last.at;
    for (const { chunk } of owners) {
      if (!this.#segments.has(chunk.id)) this.#segments.set(chunk.id, []);
      this.#segments.get(chunk.id).push(piece);
    }
    return piece;
  }
}
