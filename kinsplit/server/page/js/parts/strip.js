// All chunks of a strategy as one strip: as wide as they are long.

import { el } from "../dom.js";

const HUES = 6;

/** Return how long chunks are, in characters: fewest, middle, most. */
export function lengths(chunks) {
  const sorted = chunks.map(({ text }) => text.length).sort((a, b) => a - b);
  return [sorted[0], sorted[sorted.length >> 1], sorted.at(-1)];
}

/** Return the strip of a text's finest chunks. */
export function strip(text, chunks) {
  const parts = chunks.flatMap((chunk, at) =>
    chunk.ranges.map(({ utf16_start: start, utf16_end: end }) => {
      const part = el("span", { class: `part hue-${at % HUES}` });
      part.style.insetInlineStart = `${(100 * start) / text.length}%`;
      part.style.width = `${(100 * (end - start)) / text.length}%`;
      return part;
    }),
  );
  return el("span", { class: "strip", "aria-hidden": "true" }, parts);
}
