// Passages: cards with the text as it looks in its file, from the sentence that answers on.

import { announce, clipped, counted, el, folded, freshId } from "./dom.js";
import { address, onKey } from "./main.js";
import { rendered } from "./parts/rendered.js";
import { asProblem, original } from "./service.js";

// The place of a text: title, course, headings, pages.

/** Return the file name in a document id. */
export function fileOf(id) {
  return id.split("/").at(-1) || id;
}

const CODE = new Set("c cc cpp cs go h hpp ipynb java js json jsx kt php py r rb rs scala sh sql swift toml ts tsx yaml yml".split(" "));

/** Return the CSS class of a text: "code" keeps its columns. */
export function kindOf(id) {
  return CODE.has(fileOf(id).split(".").at(-1).toLowerCase()) ? "code" : "";
}

/** Return pages as text, or an empty string. */
export function pagesOf(pages) {
  if (!pages) return "";
  return pages[0] === pages[1] ? `p. ${pages[0]}` : `pp. ${pages[0]}–${pages[1]}`;
}

/** Return times in seconds as text: "1:05–1:09". */
export function timesOf(times) {
  return times ? times.map(clock).join("–") : "";
}

function clock(seconds) {
  const whole = Math.floor(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = String(whole % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

/** Return the title of a document, or else the name of its file. */
export function titleOf(id, metadata) {
  return typeof metadata?.title === "string" && metadata.title.trim() ? metadata.title : fileOf(id);
}

/** Return the address of a document. */
export const documentAddress = (id, strategy, at = {}) => address("document", { id, strategy, ...at });

/** Return a link to the next or the previous document of a series. */
export function neighbourLink(label, id, strategy) {
  const words = fileOf(id).replace(/(?<=.)\.\w+$/, "").replaceAll("_", " ");
  return el("a", { class: "neighbour", href: documentAddress(id, strategy) }, `${label}: `, el("bdi", {}, words));
}

/**
 * Return a breadcrumb of course, headings, pages and times.
 * @param {string} id Of the document.
 * @param {object} metadata
 * @param {{headings?: string[], pages?: [number, number]|null, times?: [number, number]|null, view?: object|null}} found
 */
export function breadcrumb(id, metadata, { headings = [], pages = null, times = null, view = null }) {
  const names = [metadata.course ?? id.split("/").slice(0, -1).join(" › "), ...headings];
  const title = titleOf(id, metadata);
  const steps = names.filter((name, at) => name && name !== title && name !== names[at - 1]);
  const spoken = times && el("span", {}, timesOf(times));
  const shown = [
    ...steps.map((step) => el("bdi", {}, step)),
    pages && el("span", { class: "pages" }, pagesOf(pages)),
    // The recording begins to play there.
    view?.recording ? el("a", { href: view.recording, target: "_blank", rel: "noopener noreferrer" }, "Listen at ", spoken) : spoken,
  ];
  const items = shown.filter(Boolean).map((step) => el("li", {}, step));
  return items.length ? el("ol", { class: "crumbs", "aria-label": "Location" }, items) : null;
}

// Texts with marked ranges.

/**
 * Return the segments of a text between the boundaries of ranges, so that overlapping ranges can be drawn.
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

const AFTER = 420;
const LONGEST = 1100;

/**
 * Return a text around its marks, with a button that shows the rest.
 * @param {string} text
 * @param {{start: number, end: number, best?: boolean}[]} marks In UTF-16 units.
 * @param {string} [kind] "code" for code.
 */
export function markedText(text, marks, kind = "") {
  const body = el("div", { class: `text ${kind}`, dir: "auto" });
  const [from, to] = around(text, marks);
  if (from === 0 && to === text.length) {
    body.append(...draw(text, marks, 0, text.length));
    return [body];
  }
  const more = el("button", { type: "button", class: "more", "aria-expanded": "false" });
  let isWhole = false;
  const show = () => {
    const parts = isWhole ? draw(text, marks, 0, text.length) : draw(text, marks, from, to);
    body.replaceChildren(!isWhole && from > 0 ? "… " : "", ...parts, !isWhole && to < text.length ? " …" : "");
    more.textContent = isWhole ? "Show less" : `Show the whole passage (${text.length.toLocaleString("en")} characters)`;
    more.setAttribute("aria-expanded", String(isWhole));
  };
  more.addEventListener("click", () => {
    isWhole = !isWhole;
    show();
  });
  show();
  return [body, more];
}

function draw(text, marks, from, to) {
  const ranges = marks.map((mark) => ({ ...mark, owner: mark }));
  return segments(ranges, from, to).map(({ start, end, owners }) => {
    const part = text.slice(start, end);
    if (!owners.length) return document.createTextNode(part);
    return el("mark", { class: owners.some(({ best }) => best) ? "best" : null }, part);
  });
}

/** Return the range to show: from the best mark on. */
function around(text, marks) {
  const best = marks.find((mark) => mark.best) ?? marks[0] ?? { start: 0, end: 0 };
  const from = text.slice(0, best.start).trim() ? best.start : 0;
  const end = Math.max(from + LONGEST, Math.min(best.end + AFTER, from + 2 * LONGEST));
  return [from, end >= text.length - AFTER ? text.length : blankNear(text, end)];
}

/** Return an offset near the given one that splits neither a word nor a character. */
function blankNear(text, at) {
  const blank = text.slice(at, at + 60).search(/\s/);
  if (blank >= 0) return at + blank;
  return /[\udc00-\udfff]/.test(text[at]) ? at + 1 : at;
}

// Texts as they look in their files, with the plain text one click away.

/**
 * @param {object} shown
 * @param {{id: string, strategy: string, pages: [number, number]|null, start: number, end: number}} shown.place The
 *   document, the pages and the range to mark on them.
 * @param {string} shown.text
 * @param {{start: number, end: number, best?: boolean}[]} shown.marks In UTF-16 units of the text.
 * @param {object|null} shown.view How the service says that it can be shown.
 * @param {(page: number) => void} [shown.onPage] Called with the page that is shown.
 * @returns {{body: HTMLElement[], bar: HTMLElement}} The text, and buttons for the ways to show it.
 */
export function look({ place, text, marks, view, onPage }) {
  const body = el("div", { class: "look" });
  const bar = el("div", { class: "looks", role: "group", "aria-label": "View" });
  const page = view?.pages && place.pages ? { page: ["Page", pictures] } : {};
  const texts = {
    ...(view?.html ? { rendered: ["Formatted", () => asRendered(view.html)] } : {}),
    text: [view?.html ? "Plain text" : "Text", () => markedText(text, marks, kindOf(place.id))],
  };
  // On a phone, a page is too small to be read.
  const ways = matchMedia("(max-width: 40rem)").matches ? { ...texts, ...page } : { ...page, ...texts };
  const fill = (parts) => body.replaceChildren(...parts.filter(Boolean));
  const show = (name) => {
    for (const tab of bar.querySelectorAll("[data-way]")) tab.setAttribute("aria-pressed", String(tab.dataset.way === name));
    fill(ways[name][1]());
  };
  const buttons = Object.entries(ways).map(([name, [label]]) =>
    el("button", { type: "button", data: { way: name }, on: { click: () => show(name) } }, label),
  );
  if (buttons.length > 1) bar.append(...buttons);
  if (view?.original) bar.append(originalButton(place));
  show(Object.keys(ways)[0]);
  return { body: [view?.problem && el("p", { class: "hint" }, view.problem), body], bar };

  function pictures() {
    import("./parts/picture.js").then(({ pagePictures }) => fill(pagePictures(place, fallBack, onPage)));
    return [el("div", { class: "page-picture" }, el("div", { class: "bone" }))];
  }

  function fallBack({ field, message }) {
    const note = el("p", { class: "hint" }, `Shown as text: ${field === "file" ? "the " : ""}${message}.`);
    bar.querySelector("[data-way=page]")?.remove();
    if (bar.querySelectorAll("[data-way]").length === 1) bar.querySelector("[data-way]").remove();
    show("text");
    body.prepend(note);
  }
}

function asRendered(html) {
  const [content, whole] = [rendered(html), rendered(html)];
  const mark = content.querySelector("mark.best") ?? content.querySelector("mark");
  const label = "Show the whole passage";
  if (!mark) return clipped(whole, { label });
  const isCut = beginAt(content, mark);
  const at = () => mark.getBoundingClientRect().top - content.getBoundingClientRect().top - 10;
  return clipped(content, { label, at, ...(isCut ? { whole } : {}) });
}

/** Take away what is before a mark, but nothing of a table or of code; return whether there was anything. */
function beginAt(content, mark) {
  const first = mark.closest(".wide, table, pre, math") ?? mark;
  const before = document.createRange();
  before.setStart(content, 0);
  before.setEndBefore(first);
  if (!before.toString().trim()) return false;
  for (let item = first.closest("ol > li"); item; item = item.parentElement.closest("ol > li")) {
    const list = item.parentElement;
    list.setAttribute("start", (Number(list.getAttribute("start")) || 1) + [...list.children].indexOf(item));
  }
  before.deleteContents();
  if (first === mark) mark.before("… ");
  return true;
}

/** Return a button that saves the file of a document. */
export function originalButton({ id, strategy }) {
  const save = async () => {
    try {
      const url = URL.createObjectURL(await original(id, strategy));
      el("a", { href: url, download: fileOf(id) }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (error) {
      const { message } = asProblem(error);
      announce(message);
      button.replaceWith(el("span", { class: "hint" }, message));
    }
  };
  const button = el("button", { type: "button", class: "plain", on: { click: save } }, "Original file");
  return button;
}

/** Return a button that copies a text with its citation. */
export function copyButton(text, citation) {
  const copy = async () => {
    const copied = `${text.trim()}\n\n— ${citation}`;
    try {
      await navigator.clipboard.writeText(copied);
    } catch {
      copyOld(copied);
    }
    announce("Copied with its citation");
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  };
  const button = el("button", { type: "button", class: "plain", title: "Copy the passage with its citation", on: { click: copy } }, "Copy");
  return button;
}

/** Copy without the clipboard API, which browsers refuse to pages that came over plain HTTP. */
function copyOld(text) {
  const area = el("textarea", { class: "hidden-text", value: text, "aria-hidden": "true" });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

// Cards.

/**
 * @param {object} passage Of GET /search.
 * @param {{strategy: string, most: object, heading?: string, note?: string, others?: object[]}} shown The strategy asked,
 *   the largest scores, the heading's level, a remark, and further passages of the same document.
 */
export function passageCard(passage, { strategy, most, heading = "h2", note, others = [] }) {
  const [best] = passage.hits;
  const { source_id: id, metadata, highlight } = passage;
  const titleId = freshId("passage");
  const { matches = false } = highlight ?? {};
  const marks = (highlight?.ranges ?? best.ranges).map((range) => ({ start: range.utf16_start, end: range.utf16_end, best: matches }));
  const marked = matches ? highlight : best;
  const pages = best.pages ?? passage.pages;
  const crumbs = breadcrumb(id, metadata, { ...passage, headings: passage.beside.headings, pages });
  const onPage = (page) => (crumbs.querySelector(".pages").textContent = pagesOf([page, page]));
  const { body, bar } = look({
    place: { id, strategy, start: marked.start, end: marked.end, pages }, text: passage.text, marks, view: passage.view, onPage,
  });
  const link = el(
    "a",
    { id: `open-${strategy}-${best.id}`, class: "open", href: documentAddress(id, strategy, { chunk: best.id }) },
    el("bdi", {}, titleOf(id, metadata)),
  );
  const related = passage.related.map(({ source_id: source, text }) =>
    el("details", {}, el("summary", {}, "Also: ", el("bdi", {}, fileOf(source))), markedText(text, [], kindOf(source))),
  );
  const why = async () => (await import("./parts/scores.js")).reasons(passage, most);
  return el(
    "article",
    { class: "passage", "aria-labelledby": titleId },
    el(
      "header",
      {},
      el("span", { class: "rank", "aria-hidden": "true" }, String(passage.rank)),
      el("div", { class: "where" }, el(heading, { id: titleId }, link), crumbs),
      note && el("span", { class: "note" }, note),
    ),
    body,
    moreOf(others, strategy),
    related,
    el(
      "footer",
      {},
      copyButton(passage.text, `${passage.location} (${metadata.file_path ?? id})`),
      metadata.next_file && neighbourLink("Next", metadata.next_file, strategy),
      bar.children.length ? bar : null,
      folded("Why this passage?", why, { class: "why" }),
    ),
  );
}

/** Return the further passages of a document as links. */
function moreOf(others, strategy) {
  if (!others.length) return null;
  const items = others.map(({ source_id: id, location, text, highlight, hits: [best] }) => {
    const [range] = highlight?.ranges ?? best.ranges;
    const words = text.slice(range.utf16_start, range.utf16_end).replace(/\s+/g, " ");
    return el(
      "li",
      {},
      el("a", { href: documentAddress(id, strategy, { chunk: best.id }) }, el("bdi", {}, location)),
      el("p", { class: "quiet", dir: "auto" }, words.length > 180 ? `${words.slice(0, 180)} …` : words),
    );
  });
  return el("details", { class: "others" }, el("summary", {}, `${counted(others.length, "more place")} in this document`), el("ul", {}, items));
}

/** Return passages by document, in the order of the best of each. */
export const byDocument = (passages) => [...Map.groupBy(passages, ({ source_id: id }) => id).values()];

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
  onKey("next", () => hop(root, 1), signal);
  onKey("previous", () => hop(root, -1), signal);
  onKey("open", () => document.activeElement.closest(".passage")?.querySelector(".open").click(), signal);
}
