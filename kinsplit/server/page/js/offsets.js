// Python counts code points, JavaScript UTF-16 units, of which a character beyond U+FFFF has two.

export class Offsets {
  #beyond = [];

  /** @param {string} text */
  constructor(text) {
    let seen = 0;
    for (const match of text.matchAll(/[\u{10000}-\u{10ffff}]/gu)) {
      this.#beyond.push(match.index - seen);
      seen += 1;
    }
    this.length = text.length - seen;
  }

  /** Return the number of UTF-16 units before a code point. */
  utf16(offset) {
    let low = 0;
    let high = this.#beyond.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#beyond[middle] < offset) low = middle + 1;
      else high = middle;
    }
    return offset + low;
  }
}

/**
 * Return the ranges of a slice of a document in a text that was joined from slices of it.
 * @param {string} text
 * @param {[number, number][]} spans The slices that the text was joined from, with one separator between any two.
 * @param {number} start First code point in the document.
 * @param {number} end One past the last.
 * @returns {{start: number, end: number}[]} In UTF-16 units of the text.
 */
export function placeIn(text, spans, start, end) {
  const offsets = new Offsets(text);
  const sum = spans.reduce((total, [first, last]) => total + last - first, 0);
  const gap = spans.length > 1 ? (offsets.length - sum) / (spans.length - 1) : 0;
  const found = [];
  let at = 0;
  for (const [first, last] of spans) {
    const [from, to] = [Math.max(first, start), Math.min(last, end)];
    if (from < to) found.push({ start: offsets.utf16(at + from - first), end: offsets.utf16(at + to - first) });
    at += last - first + gap;
  }
  return found;
}
