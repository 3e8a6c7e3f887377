// Modal dialogs; the browser manages the focus.

import { el, freshId } from "./dom.js";

/**
 * Show a dialog until it is closed.
 * @param {string} title
 * @param {(Node|string)[]} content
 * @returns {Promise<string>} The value of the button that closed it; empty for Escape.
 */
export function show(title, content) {
  const id = freshId("dialog");
  const dialog = el("dialog", { "aria-labelledby": id }, el("h2", { id }, title), content);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}
