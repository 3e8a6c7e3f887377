// A page of a document as a picture.

import { clipped, counted, el } from "../dom.js";
import { fileOf, pagesOf } from "../passage.js";
import { asProblem, pagePicture } from "../service.js";

const WIDEST = 1600;
const ABOVE = 0.09;

/**
 * Return the pages of a passage, of which the first one with a marked line is shown; each is fetched when it comes near the window.
 * @param {{id: string, strategy: string, pages: [number, number], start: number, end: number, whole?: boolean}} place
 *   The document, its pages, the range to mark, and whether whole pages are shown at once.
 * @param {(problem: object) => void} failed Called if a page can't be drawn.
 * @param {(page: number) => void} [onPage] Called with the page that is shown.
 */
export function pagePictures({ id, strategy, pages: [first, last], start, end, whole = false }, failed, onPage = () => {}) {
  const shown = el("div", { class: "page-picture" });
  const tabs = el("div", { class: "looks", role: "group", "aria-label": "Pages" });
  const numbers = Array.from({ length: Math.min(last - first + 1, 12) }, (_, at) => first + at);
  const show = async (page, following = []) => {
    for (const tab of tabs.children) tab.setAttribute("aria-pressed", String(Number(tab.dataset.page) === page));
    shown.replaceChildren(el("div", { class: "bone" }), el("p", { class: "hidden-text" }, `Drawing page ${page}`));
    try {
      const width = Math.min(WIDEST, Math.max(600, Math.round(shown.clientWidth * devicePixelRatio)));
      const { blob, lines, top } = await pagePicture(id, page, { strategy, start, end, width });
      if (tabs.children.length && !tabs.querySelector(`[data-page="${page}"][aria-pressed="true"]`)) return;
      // The range may begin on the page after the first.
      if (!lines && following.length) return show(following[0], following.slice(1));
      onPage(page);
      shown.replaceChildren(...drawn(blob, page, fileOf(id), lines, whole ? null : top));
    } catch (error) {
      failed(asProblem(error));
    }
  };
  if (numbers.length > 1) {
    tabs.append(...numbers.map((page) => el("button", { type: "button", data: { page }, on: { click: () => show(page) } }, pagesOf([page, page]))));
  }
  const near = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      near.disconnect();
      show(first, numbers.slice(1, 3));
    },
    { rootMargin: "400px" },
  );
  near.observe(shown);
  shown.append(el("div", { class: "bone" }));
  return [tabs.children.length ? tabs : null, shown];
}

function drawn(blob, page, file, lines, top) {
  const url = URL.createObjectURL(blob);
  const marked = lines ? `${counted(lines, "line")} marked` : "nothing marked";
  const image = el("img", { src: url, alt: `Page ${page} of ${file}, ${marked}` });
  image.addEventListener("load", () => URL.revokeObjectURL(url));
  const note = lines === 0 && el("p", { class: "hint" }, "The passage was not found on this page, so nothing is marked.");
  const shown = top === null ? [image] : clipped(image, { label: "Show the whole page", at: () => (top - ABOVE) * image.clientHeight });
  return [note, ...shown].filter(Boolean);
}
