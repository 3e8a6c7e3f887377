// An answer while it streams, and its checked final form.

import { el, reveal } from "../dom.js";
import { documentAddress, pagesOf, segments } from "../passage.js";
import { rendered } from "./rendered.js";

const VERDICTS = {
  supported: ["good", "Every sentence was found in the passage it cites."],
  partly_supported: ["fair", "Some sentences were not found in the passages they cite; they are underlined."],
  unsupported: ["poor", "No sentence was found in the passages. Don’t rely on it."],
  not_in_material: ["fair", "The documents do not contain the answer."],
  quoted: ["good", "Quoted from the passages, word for word."],
  broken_off: ["poor", "The answer is incomplete."],
};
const STATUSES = {
  not_found: "Not found in the cited source",
  uncited: "Cites nothing",
  no_such_source: "Cites a source that does not exist",
};

/** Return the verdict of an answer as an element and in words. */
export function verdictOf(verdict) {
  const [kind, words] = VERDICTS[verdict] ?? ["fair", verdict];
  return { words, line: el("p", { class: `verdict ${kind}` }, words) };
}

/** Return a citation marker with links to the sources. */
export function marker(text, citations, strategy) {
  const links = citations.map((citation) => {
    const { number, valid, source_id: id, start, end, pages } = citation;
    if (!valid) return el("span", { class: "cite off", title: STATUSES.no_such_source }, String(number));
    const jump = (event) => {
      const card = document.getElementById(`source-${number}`);
      if (!card || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      reveal(card, card.querySelector("mark") ?? card);
    };
    const label = ["Source", number, pagesOf(pages)].filter(Boolean).join(" ");
    const href = documentAddress(id, strategy, { at: `${start}-${end}` });
    return el("a", { class: "cite", href, "aria-label": label, on: { click: jump } }, String(number));
  });
  return links.length ? el("span", { class: "cites" }, links) : text;
}

/**
 * Return the evidence of an answer: the supporting sentences in each source.
 * @param {{citations: object[], checks: object[]}} answer
 * @returns {Map<number, {start: number, end: number}[]>} By the source's number, in UTF-16 units of its text.
 */
export function evidenceOf({ citations, checks }) {
  const found = new Map();
  const proofs = checks.filter(({ status }) => status === "found").flatMap(({ evidence }) => evidence);
  for (const { number, ranges } of proofs.length ? proofs : citations) {
    const marks = ranges.map(({ utf16_start: start, utf16_end: end }) => ({ start, end, best: true }));
    found.set(number, [...(found.get(number) ?? []), ...marks]);
  }
  return found;
}

/** Return the citations of an answer, those of one marker together. */
function groupsOf(citations) {
  return [...Map.groupBy(citations, ({ utf16_at: at }) => at.join("-")).values()];
}

/**
 * Return the finished answer with markers, and with what was not found underlined: rendered, if the service could do so.
 * @param {{text: string, html: ?string, citations: object[], checks: object[]}} answer
 * @param {string} strategy
 */
export function checked(answer, strategy) {
  return (answer.html && checkedHtml(answer, strategy)) || checkedText(answer, strategy);
}

/** Return the rendered answer; null if a citation or a doubtful sentence is lost in it, such as in a formula. */
function checkedHtml({ html, citations, checks }, strategy) {
  const element = rendered(html);
  const marks = Map.groupBy(element.querySelectorAll("mark"), (mark) => `${mark.classList.contains("best") ? "cited" : "doubtful"} ${mark.dataset.number}`);
  for (const group of groupsOf(citations)) {
    const [first, ...others] = marks.get(`cited ${citations.indexOf(group[0])}`) ?? [];
    if (!first) return null;
    first.replaceWith(marker(first.textContent, group, strategy));
    for (const other of others) other.remove();
  }
  for (const [number, { status }] of checks.entries()) {
    if (!(status in STATUSES)) continue;
    const own = marks.get(`doubtful ${number}`);
    if (!own) return null;
    for (const mark of own) mark.replaceWith(el("span", { class: "doubtful", title: STATUSES[status] }, [...mark.childNodes]));
  }
  return element;
}

function checkedText({ text, citations, checks }, strategy) {
  const range = ([start, end], owner) => ({ start, end, owner });
  const ranges = [
    ...checks.filter(({ status }) => status in STATUSES).map((check) => range(check.utf16_at, { status: check.status })),
    ...groupsOf(citations).map((group) => range(group[0].utf16_at, { group })),
  ];
  return segments(ranges, 0, text.length).map(({ start, end, owners }) => {
    const part = text.slice(start, end);
    const group = owners.find((owner) => owner.group)?.group;
    if (group) return marker(part, group, strategy);
    const status = owners.find((owner) => owner.status)?.status;
    return status ? el("span", { class: "doubtful", title: STATUSES[status] }, part) : document.createTextNode(part);
  });
}
