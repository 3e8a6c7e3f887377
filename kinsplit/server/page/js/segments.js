// Segments of a text between the boundaries of ranges, so that overlapping ranges can be drawn.

/**
 * @param {{start: number, end: number, owner: unknown}[]} ranges In UTF-16 units.
 * @param {number} from First unit to show.
 * @param {number} to One past the last.
 * @returns {{start: number, end: number, owners: unknown[]}[]} Without gaps from `from` to `to`; owners in the order of
 *   their starts.
 */
export function segments(ranges, from, to) {
  const inside = ranges.filter((range) => range.start < to && range.end > from && range.start < range.end);
  inside.sort((a, b) => a.start - b.start || b.end - a.end);
  const cuts = new Set([from, to]);
  for (const { start, end } of inside) cuts.add(Math.max(from, start)).add(Math.min(to, end));
  const offsets = [...cuts].sort((a, b) => a - b);
  const found = [];
  let open = [];
  let next = 0;
  for (let index = 0; index + 1 < offsets.length; index += 1) {
    const [start, end] = [offsets[index], offsets[index + 1]];
    open = open.filter((range) => range.end > start);
    while (next < inside.length && inside[next].start <= start) {
      open.push(inside[next]);
      next += 1;
    }
    found.push({ start, end, owners: open.map((range) => range.owner) });
  }
  return found;
}
