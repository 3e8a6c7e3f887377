// The API key of a service that wants one. It is kept until the tab is closed, and goes into no address.

import { show } from "./dialog.js";
import { el } from "./dom.js";
import { session } from "./storage.js";

let asking = null;
let refused = false;

/** Let the next request that needs a key ask for one again, after somebody said no. */
export function askAgain() {
  refused = false;
}

/**
 * Ask for a key; requests that fail at the same time ask once.
 * @param {string|null} tried The key that was refused.
 * @returns {Promise<boolean>} Whether there is another one now.
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
  // What else there is does not go through a header.
  const spelling = { pattern: "[!-~]+", title: "Letters, digits and signs of ASCII, without spaces" };
  const input = el("input", { id: "key", type: "password", autocomplete: "off", required: true, autofocus: true, ...spelling });
  const why = tried ? "The service does not know this key. Try another one." : "This service lets in those who have a key.";
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
  // Enter presses the first button of a form: let that be the one that is meant.
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
