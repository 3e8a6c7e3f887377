// The frame: tabs, routing, scroll positions and global shortcuts.

import { announce, el } from "./dom.js";
import { showHelp } from "./help.js";
import { address, arrive, current, go, remember, restore } from "./router.js";
import * as shortcuts from "./shortcuts.js";
import * as theme from "./theme.js";
import * as ask from "./views/ask.js";
import * as compare from "./views/compare.js";
import * as cut from "./views/cut.js";
import * as source from "./views/document.js";
import * as documents from "./views/documents.js";
import * as search from "./views/search.js";

const TABS = { search, ask, compare, cut, documents };
const VIEWS = { ...TABS, document: source };
const main = document.getElementById("view");
let shown = null;
let mounting = false;

function showTabs(view, question) {
  const at = view === "document" ? "documents" : view;
  const links = Object.entries(TABS).map(([name, { title }]) => {
    const keeps = ["search", "ask", "compare"].includes(name) ? { q: question } : {};
    return el("a", { href: address(name, keeps), "aria-current": name === at ? "page" : null }, title);
  });
  document.getElementById("views").replaceChildren(...links);
}

/** Put the question into the links to the other views and into the title. */
function state(name, question) {
  showTabs(name, question);
  const { title } = VIEWS[name];
  document.title = `${question ? `${question} – ` : ""}${title} – kinsplit`;
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
  main.replaceChildren();
  main.dataset.view = view;
  announce(VIEWS[view].title);
  const mounted = VIEWS[view].mount(main, params, { signal, state: (question) => state(view, question) });
  // Focus the question at once, but not on a phone, where the keyboard would cover the content.
  const typing = matchMedia("(pointer: fine)").matches && main.querySelector("[data-first]");
  (typing || main.querySelector("h1"))?.focus({ preventScroll: true });
  scrollTo({ top: 0, behavior: "instant" });
  await mounted;
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

history.scrollRestoration = "manual";
theme.start();
shortcuts.start();
shortcuts.on("help", showHelp);
shortcuts.on("theme", theme.toggle);
shortcuts.on("view", (key) => document.querySelector(`#views a:nth-child(${key})`).click());
shortcuts.on("question", () => {
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
