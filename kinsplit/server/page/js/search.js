// The Search view: results as you type. What Ask shares with it is here too: the question and its scope.

import { announce, choice, counted, el, empty, folded, line, loading, number } from "./dom.js";
import { Steps, address, restate } from "./main.js";
import { byDocument, hop, hopByKey, passageCard } from "./passage.js";
import { Latest, contents, failed, search } from "./service.js";

/** Return the largest value of each stage of the scores, against which bars are drawn. */
export function largest(passages) {
  const most = {};
  for (const { scores } of passages) {
    for (const [stage, value] of Object.entries(scores)) most[stage] = Math.max(most[stage] ?? 0, Math.abs(value));
  }
  return most;
}

export async function mount(root, params, { signal, state }) {
  let q = params.get("q") ?? "";
  const latest = new Latest(signal);
  const steps = new Steps(q);
  const results = el("section", { class: "results", "aria-label": "Passages" }, q ? loading("Searching") : loading("Opening"));
  const asking = el("a", { class: "button" }, "Answer it");
  const form = question(
    { value: q, action: "Search", onType: typed, onSend: send, onDown: () => hop(results, 1) },
    asking,
  );
  root.append(el("h1", { class: "hidden-text", tabindex: -1 }, "Search"), form, results);

  const indexed = await opened(results, params, signal);
  if (!indexed) return;
  const scope = new Scope(indexed, params, () => latest.now(run), signal, { isSearch: true });
  form.after(scope.element);
  hopByKey(results, signal);
  await latest.ready(run);

  function typed(text) {
    q = text;
    latest.soon(run);
  }

  function send(text) {
    q = text;
    latest.now(run).then(() => steps.stay());
  }

  async function run(current) {
    const wanted = { q, ...scope.values() };
    asking.href = address("ask", { q, strategy: wanted.strategy, where: wanted.where });
    restate("search", wanted, steps.isNew(q));
    state(q);
    if (!q) {
      results.removeAttribute("aria-busy");
      results.replaceChildren(welcome(scope.indexed));
      return;
    }
    results.setAttribute("aria-busy", "true");
    if (!results.querySelector(".passage")) results.replaceChildren(loading("Searching"));
    try {
      const answer = await search(wanted, current);
      current.throwIfAborted();
      show(answer);
    } catch (error) {
      if (current.aborted) return;
      results.replaceChildren(failed(error, () => latest.now(run)));
    }
    results.removeAttribute("aria-busy");
  }

  function show({ passages, strategy, notices, named_course: course }) {
    const documents = byDocument(passages);
    const where = `in ${counted(documents.length, "document")}`;
    const said = passages.length ? `${counted(passages.length, "passage")} ${where}` : "Nothing found";
    announce([...notices, said].join(" "));
    if (!passages.length) {
      const remedy = scope.where.length ? "Remove a filter, or use other words." : "Use other words, or fewer.";
      results.replaceChildren(empty(said, ...[...notices, remedy].map((each) => el("p", {}, each))));
      return;
    }
    const most = largest(passages);
    const cards = documents.map(([best, ...others]) => el("li", {}, passageCard(best, { strategy, most, others })));
    const focused = results.contains(document.activeElement) ? document.activeElement.id : null;
    results.replaceChildren(
      ...notices.map((notice) => el("p", { class: "notice" }, notice)),
      course && !scope.where.length ? el("a", { href: address("search", { q, where: `course=${course}` }) }, `Search only in ${course}`) : "",
      el("p", { class: "count" }, said),
      el("ol", { class: "passages" }, cards),
    );
    // A passage that is still there keeps the focus.
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

/** Return what is indexed, or show in an element why the service can't be used, and return null. */
export async function opened(shown, params, signal) {
  try {
    return await contents(params.get("strategy"), signal);
  } catch (error) {
    // A search may still succeed, unless nothing does.
    if (error.status > 401) return { keys: [], documents: 0, strategy: params.get("strategy"), problem: error.message };
    if (!signal.aborted) shown.replaceChildren(failed(error, () => location.reload()));
    return null;
  }
}

/** Return what is indexed, with three examples from it. */
function welcome({ documents, keys, strategy, asked, problem }) {
  if (!documents && !problem) return empty("Nothing is indexed yet", el("p", {}, "Run ", el("code", {}, "kinsplit index PATHS"), "."));
  const courses = keys.find(({ key }) => key === "course")?.values ?? [];
  const inCourse = (course) => address("search", { where: `course=${course}`, strategy: asked && strategy });
  const links = courses.slice(0, 12).map(({ value, documents: number }) =>
    el("li", {}, el("a", { href: inCourse(value) }, el("bdi", {}, String(value))), el("span", { class: "quiet" }, ` ${counted(number, "document")}`)),
  );
  const examples = examplesFrom(keys).map((q) => el("li", {}, el("a", { class: "button", href: address("search", { q }) }, el("bdi", {}, q))));
  return empty(
    documents ? `${counted(documents, "document")} can be searched` : "Search",
    el("p", {}, "Passages appear as you type."),
    links.length > 1 && el("ul", { class: "courses", "aria-label": "Courses" }, links),
    examples.length > 0 && [el("p", { class: "try" }, "For example:"), el("ul", { class: "examples", "aria-label": "Examples" }, examples)],
    el("p", { class: "keys-hint" }, el("kbd", {}, "↓"), " moves to the passages, ", el("kbd", {}, "?"), " shows all keys."),
  );
}

/** Return up to three examples: titles of documents that ask something, and subjects from all over. */
function examplesFrom(keys) {
  const titles = (keys.find(({ key }) => key === "title")?.values ?? []).map(({ value }) => String(value).replace(/\s+/g, " ").trim());
  // "Lecture 11: Searching and sorting" and "Lecture 8 notes: classes" are about what follows the colon.
  const subjects = titles.map((title) => title.replace(/^[\p{L} ]+[\d.]+( \p{L}+)?\s*[:–—-]\s*/u, ""));
  const named = subjects.map((title) => title.charAt(0).toLocaleUpperCase() + title.slice(1));
  const fitting = [...new Set(named)].filter((title) => title.length >= 8 && title.length <= 60 && /\p{L}+\s+\p{L}/u.test(title) && !/\d$|[_/]/.test(title));
  const asking = fitting.filter((title) => title.endsWith("?"));
  const others = fitting.filter((title) => !title.endsWith("?"));
  const spread = [0, 1, 2].map((part) => others[Math.floor(((part + 0.5) * others.length) / 3)]).filter(Boolean);
  return [...asking.slice(0, 2), ...new Set(spread)].slice(0, 3);
}

/**
 * The search box.
 * @param {{value: string, action: string, onType?: (text: string) => void, onSend: (text: string) => void, onDown?: () => void}} wanted
 * @param {...Node} more Additional buttons.
 */
export function question({ value, action, onType, onSend, onDown }, ...more) {
  const input = el("input", {
    type: "search",
    id: "question",
    value,
    maxlength: 2000,
    dir: "auto",
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "search",
    placeholder: "What do you want to know?",
    data: { first: "" },
  });
  // While an input method composes a word, the question is incomplete.
  if (onType) input.addEventListener("input", (event) => event.isComposing || onType(input.value.trim()));
  if (onType) input.addEventListener("compositionend", () => onType(input.value.trim()));
  input.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" || !onDown) return;
    event.preventDefault();
    onDown();
  });
  const form = el(
    "form",
    { class: "question", role: "search" },
    el("label", { for: "question", class: "hidden-text" }, "Question"),
    input,
    el("button", { type: "submit", class: "main" }, action),
    more,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    onSend(input.value.trim());
  });
  return form;
}

/** Keys offered at once, and listed first among the others, with their labels. */
const [FIRST, KNOWN] = [{ course: "Course", file_type: "Kind of material" }, { subject: "Subject" }];
/** Keys that say nothing by which somebody would choose. */
const UNHELPFUL = ["title", "file_path", "group_id", "sibling_files", "previous_file", "next_file"];
/** Number of values for which a key is offered, and of keys. */
const [FEWEST, MOST, MOST_CHOICES] = [2, 40, 6];
/** Kinds of material by the types of files; the others are their own names. */
export const KINDS = {
  code: "Code", epub: "E-books", html: "Web pages", mail: "E-mails", markdown: "Notes", notebook: "Notebooks", pdf: "PDF",
  slides: "Slides", spreadsheet: "Spreadsheets", table: "Tables", text: "Plain text", transcript: "Transcripts", word: "Word documents",
};
/** Options of a search that an address may hold. */
const OPTIONS = ["top_k", "window", "ranking", "rerank", "diversity", "parents", "budget", "context_share"];

/** Where and how to search: course and kind of material at once, other filters and options on demand. */
export class Scope {
  #onChange;
  #signal;
  #first = el("div", { class: "fields first" });
  #others = el("div", { class: "fields" });
  #chips = el("div");
  #note = el("p", { class: "hint", role: "status", hidden: true });
  #options;
  #unlisted = el("p", { class: "hint", hidden: true });

  /**
   * @param {object} indexed Result of `contents`.
   * @param {URLSearchParams} params
   * @param {() => void} onChange
   * @param {AbortSignal} signal Of the view.
   * @param {{isSearch?: boolean}} [view] Whether the options of a search are offered.
   */
  constructor(indexed, params, onChange, signal, { isSearch = false } = {}) {
    [this.#onChange, this.#signal] = [onChange, signal];
    this.indexed = indexed;
    this.where = params.getAll("where");
    this.strategy = params.has("strategy") ? indexed.strategy : null;
    this.#options = Object.fromEntries(isSearch ? OPTIONS.map((name) => [name, params.get(name) ?? ""]) : []);
    const set = (name, value) => {
      this.#options[name] = value;
      onChange();
    };
    const passages = isSearch && number("Passages", "top_k", this.#options.top_k, { min: 1, max: 50, placeholder: "5, or as many as fit" });
    if (passages) passages.addEventListener("change", ({ target }) => set("top_k", target.value));
    const expert = async () => {
      const { expertOptions } = await import("./parts/options.js");
      return expertOptions(this.#options, this.indexed.strategy, set, (name) => this.#move(name), signal);
    };
    const more = el(
      "details",
      { class: "more-options" },
      el("summary", {}, "More options"),
      this.#others,
      passages,
      this.#adding(),
      folded("Expert options", expert, { class: "expert" }),
    );
    this.element = el("div", { class: "options" }, this.#note, this.#first, this.#unlisted, this.#chips, more);
    this.#draw();
  }

  /** The parameters of GET /search, without the question. */
  values() {
    const { top_k: passages, ...options } = this.#options;
    // A budget alone limits the number of passages.
    return { strategy: this.strategy, where: [...this.where], ...options, top_k: passages || (options.budget ? null : 5) };
  }

  #adding() {
    const form = el(
      "form",
      { class: "adding" },
      line("Filter", "where", "", { placeholder: "course=cs", hint: "Also with !=, <, <=, > or >=." }),
      el("button", { type: "submit" }, "Add"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const condition = form.elements.where.value.trim();
      form.elements.where.value = "";
      if (condition && !this.where.includes(condition)) this.#change([...this.where, condition]);
    });
    return form;
  }

  /** Search in another collection. */
  async #move(strategy) {
    this.strategy = strategy;
    const indexed = await opened(this.#unlisted, new URLSearchParams({ strategy }), this.#signal);
    if (indexed) this.indexed = indexed;
    this.#draw();
    this.#onChange();
  }

  #change(where) {
    this.where = where;
    this.#draw();
    this.#onChange();
  }

  #draw() {
    const { asked, strategy, keys, problem } = this.indexed;
    this.#unlisted.hidden = !problem;
    this.#unlisted.textContent = `The filters could not be loaded: ${problem}.`;
    this.#note.hidden = !asked;
    this.#note.textContent = `Nothing is indexed with “${asked}” here; this is “${strategy}”.`;
    const focused = this.element?.contains(document.activeElement) ? document.activeElement.name : null;
    const [first, others] = offered(keys);
    this.#first.replaceChildren(...first.map((row) => this.#choice(row)));
    this.#others.replaceChildren(...others.map((row) => this.#choice(row)));
    const remove = (condition) => this.#change(this.where.filter((each) => each !== condition));
    // Those that a field in sight holds need no chip.
    const isSeen = (condition) => first.some(({ key }) => held(this.where, key).length === 1 && condition.startsWith(`${key}=`));
    this.#chips.replaceChildren(chips(this.where.filter((condition) => !isSeen(condition)), remove));
    if (focused) this.element.querySelector(`select[name="${CSS.escape(focused)}"]`)?.focus();
  }

  #choice({ key, values }) {
    const label = FIRST[key] ?? KNOWN[key] ?? key[0].toUpperCase() + key.slice(1).replaceAll("_", " ");
    const prefix = `${key}=`;
    const named = (value) => (key === "file_type" ? (KINDS[value] ?? String(value)) : String(value));
    const own = held(this.where, key);
    const rows = values.map(({ value, documents }) => ({ value: String(value), label: `${named(value)} · ${counted(documents, "document")}` }));
    if (own.length === 1 && !rows.some(({ value }) => value === own[0])) rows.unshift({ value: own[0], label: named(own[0]) });
    const all = own.length > 1 ? "Several" : key === "course" ? "All courses" : "All";
    const field = choice(label, key, [{ value: "", label: all }, ...rows], own.length === 1 ? own[0] : "");
    field.addEventListener("change", ({ target }) => {
      const others = this.where.filter((condition) => !condition.startsWith(prefix));
      this.#change(target.value ? [...others, prefix + target.value] : others);
    });
    return field;
  }
}

/** Return the values that conditions ask for under a key. */
function held(conditions, key) {
  return conditions.filter((condition) => condition.startsWith(`${key}=`)).map((condition) => condition.slice(key.length + 1));
}

/** Return the keys to offer at once and on demand: those with some values, which several documents share. */
function offered(keys) {
  const known = Object.keys({ ...FIRST, ...KNOWN });
  const isShared = ({ distinct, values }) => values.reduce((sum, { documents }) => sum + documents, 0) >= 2 * distinct;
  const few = keys.filter(({ key, distinct }) => distinct >= FEWEST && distinct <= MOST && !UNHELPFUL.includes(key));
  const useful = few.filter((row) => known.includes(row.key) || isShared(row));
  useful.sort((one, other) => position(one) - position(other));
  return [useful.filter(({ key }) => key in FIRST), useful.filter(({ key }) => !(key in FIRST)).slice(0, MOST_CHOICES)];

  function position({ key }) {
    return known.includes(key) ? known.indexOf(key) : known.length;
  }
}

function chips(conditions, remove) {
  const rows = conditions.map((condition) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "chip on", "aria-label": `Remove the filter ${condition}`, on: { click: () => remove(condition) } },
        el("bdi", {}, condition),
        el("span", { "aria-hidden": "true" }, " ×"),
      ),
    ),
  );
  return el("ul", { class: "chips", "aria-label": "Filters", hidden: !rows.length }, rows);
}
