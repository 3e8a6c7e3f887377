// The API key. It is kept until the tab is closed, and never put into a URL.

import { show } from "./dialog.js";
import { el } from "./dom.js";
import { session } from "./service.js";

let asking = null;
let refused = false;

/** Ask for a key again, although the user has cancelled the dialog before. */
export function askAgain() {
  refused = false;
}

/**
 * Ask for a key, once for all requests that fail at the same time.
 * @param {string|null} tried The rejected key.
 * @returns {Promise<boolean>} Whether there is a new key.
 */
export async function askForKey(tried) {
  if (session.get("key") !== tried) return true;
  if (refused) return false;
  asking ??= prompt(tried).finally(() => {
    asking = null;
  });
  return asking;
}

async function prompt(tried) {
  // HTTP headers allow no other characters.
  const spelling = { pattern: "[!-~]+", title: "ASCII letters, digits and symbols, without spaces" };
  const input = el("input", { id: "key", type: "password", autocomplete: "off", required: true, autofocus: true, ...spelling });
  const why = tried ? "This key is not valid. Try another one." : "This service requires an API key.";
  const form = el(
    "form",
    { method: "dialog", class: "stack" },
    el("p", { id: "key-why", role: tried ? "alert" : null }, why),
    el("label", { for: "key" }, "API key"),
    input,
    el(
      "p",
      { class: "row end" },
      el("button", { type: "submit", value: "", formnovalidate: true }, "Cancel"),
      el("button", { type: "submit", value: "use", class: "main" }, "Use this key"),
    ),
  );
  // By default Enter presses the first button, which is Cancel.
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    form.requestSubmit(form.querySelector(".main"));
  });
  input.setAttribute("aria-describedby", "key-why");
  const choice = await show("API key", [form]);
  refused = choice !== "use" || !input.value;
  if (refused) return false;
  session.set("key", input.value);
  return true;
}
