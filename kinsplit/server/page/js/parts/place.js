// The place of a chunk: file, folders, headings, pages.

import { el } from "../dom.js";

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

/**
 * Return a breadcrumb of folders, headings, pages and times.
 * @param {string} id Of the document.
 * @param {string[]} headings Of the chunk.
 * @param {{pages?: [number, number]|null, times?: [number, number]|null, view?: object|null}} [found] A passage.
 */
export function breadcrumb(id, headings, { pages = null, times = null, view = null } = {}) {
  const steps = [...id.split("/").slice(0, -1), ...headings].filter(Boolean);
  const spoken = times && el("span", { class: "pages" }, timesOf(times));
  const shown = [
    ...steps.map((step) => el("bdi", {}, step)),
    pages && el("span", { class: "pages" }, pagesOf(pages)),
    // The recording begins to play there.
    view?.recording ? el("a", { href: view.recording, target: "_blank", rel: "noopener noreferrer" }, "Listen at ", spoken) : spoken,
  ];
  const items = shown.filter(Boolean).map((step) => el("li", {}, step));
  return items.length ? el("ol", { class: "crumbs", "aria-label": "Location" }, items) : null;
}
