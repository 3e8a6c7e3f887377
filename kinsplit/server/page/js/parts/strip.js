// The chunks of a text as a strip, each as wide as it is long.

import { el } from "../dom.js";

const HUES = 6;

/** Return the minimum, median and maximum length of chunks in characters. */
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
