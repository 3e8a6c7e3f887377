// Something high of which a part is shown, with a button that shows all of it.

import { el } from "../dom.js";

/**
 * @param {HTMLElement} content
 * @param {{label: string, at?: () => number}} given What the button says, and how far from the top the part begins.
 * @returns {HTMLElement[]} The part and the button, which is hidden where everything fits.
 */
export function clipped(content, { label, at = () => 0 }) {
  const box = el("div", { class: "clip" }, content);
  const more = el("button", { type: "button", class: "more", "aria-expanded": "false", hidden: true }, label);
  let isWhole = false;
  const fit = () => {
    if (isWhole || !box.isConnected) return;
    more.hidden = content.offsetHeight <= box.clientHeight + 8;
    box.classList.toggle("cut", !more.hidden);
    box.scrollTop = more.hidden ? 0 : Math.max(0, at());
  };
  more.addEventListener("click", () => {
    isWhole = !isWhole;
    box.classList.toggle("whole", isWhole);
    box.classList.toggle("cut", !isWhole);
    more.textContent = isWhole ? "Show less" : label;
    more.setAttribute("aria-expanded", String(isWhole));
    fit();
  });
  new ResizeObserver(fit).observe(content);
  return [box, more];
}
