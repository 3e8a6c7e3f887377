// The frame: views, addresses and the history, shortcuts, colours.

import { announce, el } from "./dom.js";
import { failed, kept, unreachable } from "./service.js";

/** Titles of the views that the header and the footer lead to, in the order of their keys. */
const TITLES = { search: "Search", ask: "Ask", documents: "Documents", compare: "Compare", cut: "Cut" };
const IN_FOOTER = ["compare", "cut"];
const KEEPS_QUESTION = ["search", "ask", "compare"];
const VIEWS = {
  search: () => import("./search.js"),
  ask: () => import("./views/ask.js"),
  documents: () => import("./views/documents.js"),
  compare: () => import("./views/compare.js"),
  cut: () => import("./views/cut.js"),
  document: () => import("./views/document.js"),
};
const main = document.getElementById("view");
let shown = null;
let mounting = false;

function showTabs(view, question) {
  const at = view === "document" ? "documents" : view;
  const links = Object.entries(TITLES).map(([name, title]) => {
    const keeps = KEEPS_QUESTION.includes(name) ? { q: question } : {};
    return el("a", { href: address(name, keeps), "aria-current": name === at ? "page" : null, data: { view: name } }, title);
  });
  const isBelow = ({ dataset }) => IN_FOOTER.includes(dataset.view);
  document.getElementById("views").replaceChildren(...links.filter((link) => !isBelow(link)));
  document.getElementById("more-views").replaceChildren(...links.filter(isBelow));
}

/** Put the question into the links to the other views and into the title. */
function state(name, question) {
  showTabs(name, name === "document" ? "" : question);
  document.title = [question, TITLES[name], "kinsplit"].filter(Boolean).join(" – ");
}

async function route() {
  const { view, params } = current();
  if (!(view in VIEWS)) {
    location.replace(address("search"));
    return;
  }
  arrive();
  shown?.abort();
  shown = new AbortController();
  const { signal } = shown;
  // An empty view scrolls to the top by itself; that position must not be remembered.
  const left = history.state;
  mounting = true;
  state(view, params.get("q") ?? "");
  let mount;
  try {
    ({ mount } = await VIEWS[view]());
  } catch {
    main.replaceChildren(failed(unreachable(), () => location.reload()));
  }
  if (signal.aborted || !mount) return;
  main.replaceChildren();
  main.dataset.view = view;
  announce(TITLES[view] ?? "Document");
  const mounted = mount(main, params, { signal, state: (question) => state(view, question) });
  // Focus the question at once, but not on a phone, where the keyboard would cover the content.
  const typing = matchMedia("(pointer: fine)").matches && main.querySelector("[data-first]");
  (typing || main.querySelector("h1"))?.focus({ preventScroll: true });
  scrollTo({ top: 0, behavior: "instant" });
  await mounted;
  // Clipped texts have their height after the next frame.
  if (left) await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  if (signal.aborted) return;
  mounting = false;
  restore(left);
}

function rememberScroll() {
  let timer = 0;
  addEventListener("scroll", () => {
    clearTimeout(timer);
    if (!mounting) timer = setTimeout(() => mounting || remember(), 200);
  });
  // Going back returns the focus to the link that was followed.
  main.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link?.id) remember(link.id);
  }, { capture: true });
}

// Addresses. The URL fragment holds the state of a view, such as "#/search?q=loops", so links and the back button work.

/** Return the view and the parameters of the current URL. */
export function current() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { view: path || "search", params: new URLSearchParams(query ?? "") };
}

/** Return the URL of a view; empty parameters are left out. */
export function address(view, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "" && each !== false) query.append(name, String(each));
    }
  }
  const written = query.toString();
  return `#/${view}${written ? `?${written}` : ""}`;
}

/** Go to a view as a link does. */
export function go(view, params) {
  location.hash = address(view, params);
}

/**
 * Update the URL to what the view shows.
 * @param {string} view
 * @param {object} params
 * @param {boolean} [isStep] Whether the back button returns to the previous state.
 */
export function restate(view, params, isStep = false) {
  // The user has already gone elsewhere; the view there follows only after this.
  if (current().view !== view || location.hash !== stated) return;
  if (isStep) history.pushState(null, "", address(view, params));
  else history.replaceState(history.state, "", address(view, params));
  stated = location.hash;
}

let steps = 0;
// The URL fragment that the view was given or gave.
let stated = location.hash;

/** Count a view that is shown. */
function arrive() {
  steps += 1;
  stated = location.hash;
}

/** Go back if that stays on this page, or else to the given URL. */
export function leave(otherwise) {
  if (steps > 1) history.back();
  else location.hash = otherwise;
}

/** Remember the scroll position and the followed link for going back. */
function remember(focus = history.state?.focus ?? null) {
  history.replaceState({ scroll: scrollY, focus }, "");
}

/**
 * Restore the scroll position and the focus.
 * @param {{scroll: number, focus: string|null}|null} left The state that `remember` put into the history.
 */
function restore(left) {
  if (!left) return;
  scrollTo({ top: left.scroll, behavior: "instant" });
  const element = left.focus && document.getElementById(left.focus);
  if (element) element.focus({ preventScroll: true });
}

/** The history of questions: the back button returns to those that were sent, not to every keystroke. */
export class Steps {
  #last;
  #stayed;

  /** @param {string} question The question in the URL. */
  constructor(question) {
    this.#last = question;
    this.#stayed = Boolean(question);
  }

  /** Record that the question was sent. */
  stay() {
    this.#stayed = Boolean(this.#last);
  }

  /** Return whether a question begins a new step in the history. */
  isNew(question) {
    const isNew = this.#stayed && question !== this.#last;
    if (isNew) this.#stayed = false;
    this.#last = question;
    return isNew;
  }
}

// Single-key shortcuts, active outside of text fields. They can be disabled, for users of speech input.

/** The shortcuts as the help shows them: name -> keys and label. */
export const SHORTCUTS = {
  question: { keys: ["/"], label: "Go to the question", where: "Everywhere" },
  help: { keys: ["?"], label: "Show this help", where: "Everywhere" },
  theme: { keys: ["t"], label: "Switch between light and dark", where: "Everywhere" },
  view: { keys: ["1", "2", "3", "4", "5"], label: "Search, Ask, Documents, Compare, Cut", where: "Everywhere" },
  next: { keys: ["j", "ArrowRight"], label: "Next passage, or next part of a document", where: "Passages and documents" },
  previous: { keys: ["k", "ArrowLeft"], label: "Previous passage, or previous part of a document", where: "Passages and documents" },
  first: { keys: ["ArrowDown"], label: "From the question to the first passage", where: "Passages and documents" },
  open: { keys: ["o"], label: "Open the document at the passage", where: "Passages and documents" },
  parent: { keys: ["p"], label: "Go to the section", where: "In a document" },
  child: { keys: ["c"], label: "Go to the first part of the section", where: "In a document" },
  back: { keys: ["Escape"], label: "Go back, or stop the answer", where: "In a document, in an answer" },
};

const byKey = new Map(Object.entries(SHORTCUTS).flatMap(([name, { keys }]) => keys.map((key) => [key, name])));
const handlers = new Map();

/** Return whether shortcuts are enabled. */
export const enabled = () => kept.get("keys") !== "off";

/** Enable or disable shortcuts. */
export const enable = (on) => kept.set("keys", on ? null : "off");

/**
 * Register a function for a shortcut until the signal ends; the last one registered is called.
 * @param {string} name
 * @param {(key: string) => void} act
 * @param {AbortSignal} [signal]
 */
export function onKey(name, act, signal) {
  const all = handlers.get(name) ?? [];
  handlers.set(name, [...all, act]);
  signal?.addEventListener("abort", () => handlers.set(name, handlers.get(name).filter((each) => each !== act)));
}

function listen() {
  document.addEventListener("keydown", (event) => {
    const act = handlers.get(byKey.get(event.key))?.at(-1);
    if (!act || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "Escape" ? typing?.tagName === "SELECT" : typing || !enabled()) return;
    event.preventDefault();
    act(event.key);
  });
}

// Colours: the system's, until the user chooses.

const dark = matchMedia("(prefers-color-scheme: dark)");

function theme() {
  return document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
}

function toggleTheme() {
  const other = theme() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = other;
  kept.set("theme", other);
  labelTheme();
}

function labelTheme() {
  const button = document.getElementById("theme");
  const other = theme() === "dark" ? "light" : "dark";
  button.setAttribute("aria-label", `Switch to ${other} colours`);
  button.title = `Switch to ${other} colours (t)`;
  button.textContent = other === "dark" ? "☾" : "☀";
}

const showHelp = async () => (await import("./help.js")).showHelp();

function start() {
  history.scrollRestoration = "manual";
  document.getElementById("theme").addEventListener("click", toggleTheme);
  dark.addEventListener("change", labelTheme);
  labelTheme();
  listen();
  onKey("help", showHelp);
  onKey("theme", toggleTheme);
  onKey("view", (key) => document.querySelector(`a[data-view="${Object.keys(TITLES)[key - 1]}"]`).click());
  onKey("question", () => {
    const input = main.querySelector("[data-first]");
    if (input) input.select?.() ?? input.focus();
    else go("search");
  });
  document.getElementById("help").addEventListener("click", showHelp);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // The URL fragment belongs to the view.
    main.focus();
  });
  rememberScroll();
  addEventListener("hashchange", route);
  route();
}

start();
