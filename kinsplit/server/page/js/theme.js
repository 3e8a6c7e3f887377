// The light or dark theme: the system's, until the user chooses one.

import { kept } from "./storage.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

function shown() {
  return document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
}

/** Switch to the other theme. */
export function toggle() {
  const other = shown() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = other;
  kept.set("theme", other);
  label();
}

function label() {
  const button = document.getElementById("theme");
  const other = shown() === "dark" ? "light" : "dark";
  button.setAttribute("aria-label", `Switch to ${other} colours`);
  button.title = `Switch to ${other} colours (t)`;
  button.textContent = other === "dark" ? "☾" : "☀";
}

/** Connect the button in the header. */
export function start() {
  document.getElementById("theme").addEventListener("click", toggle);
  dark.addEventListener("change", label);
  label();
}
