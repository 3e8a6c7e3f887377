// Requests to the service, their problems, and what the browser stores. URLs are relative, since the service may be served
// below a path.

import { announce, el } from "./dom.js";

const MOST_KEPT = 40;
const answers = new Map();

/** Search. `params` are those of GET /search. */
export const search = (params, signal) => read("search", { ...params, render: true }, signal);

/** Strategies, indexed collections, rankings and rerankers. */
export const strategies = (signal) => read("strategies", {}, signal);

/**
 * What is indexed: the number of documents, and the metadata that they can be filtered by.
 * @returns {Promise<object>} The response of GET /filters; `asked` is the strategy asked for, if that isn't indexed.
 */
export async function contents(strategy, signal) {
  try {
    return await read("filters", { strategy }, signal);
  } catch (error) {
    if (!strategy || error.field !== "strategy") throw error;
    return { ...(await read("filters", {}, signal)), asked: strategy };
  }
}

/** A page of the documents. */
export const documents = (params, signal) => read("documents", params, signal);

/** A document with the positions of its chunks; `options` are the others of GET /documents/{id}. */
export const documentOf = (id, strategy, signal, options = {}) => read(pathOf(id), { strategy, ...options }, signal);

/**
 * A page of a document as a picture.
 * @param {string} id
 * @param {number} page From 1.
 * @param {{strategy: string, start: number, end: number, width: number}} params The range to mark, and pixels across.
 * @returns {Promise<{blob: Blob, lines: number, top: number}>} With the number of marked lines, and the share of the
 *   page's height above the first one.
 */
export async function pagePicture(id, page, params) {
  const url = new URL(`${pathOf(id)}/pages/${page}.png`, document.baseURI.split("#")[0]);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, String(value));
  const response = await request(url, {});
  const header = (name) => Number(response.headers.get(name) ?? 0);
  return { blob: await response.blob(), lines: header("X-Marked-Lines"), top: header("X-Marked-Top") };
}

/** The file of a document. */
export async function original(id, strategy) {
  const url = new URL(`${pathOf(id)}/original`, document.baseURI.split("#")[0]);
  url.searchParams.set("strategy", strategy);
  return (await request(url, {})).blob();
}

/** Delete an uploaded document. */
export async function remove(id, strategy, signal) {
  const url = new URL(pathOf(id), document.baseURI.split("#")[0]);
  url.searchParams.set("strategy", strategy);
  await request(url, { method: "DELETE" }, signal);
  answers.clear();
}

/**
 * Upload a file, and return the report of the service.
 * @param {File} file
 * @param {string} strategy
 * @param {(share: number) => void} progress Called with the share that was sent.
 * @param {AbortSignal} signal
 */
export async function upload(file, strategy, progress, signal) {
  const url = new URL("documents", document.baseURI.split("#")[0]);
  url.searchParams.set("strategy", strategy);
  const body = new FormData();
  body.append("files", file, file.name);
  const response = await request(url, { method: "POST", body, progress }, signal, sendWithProgress);
  answers.clear();
  return response.json();
}

/** `fetch` for an upload; the real one doesn't tell how much it has sent. */
function sendWithProgress(url, { method, body, headers, progress, signal }) {
  return new Promise((resolve, reject) => {
    const sent = new XMLHttpRequest();
    sent.open(method, url);
    for (const [name, value] of Object.entries(headers)) sent.setRequestHeader(name, value);
    sent.upload.addEventListener("progress", ({ loaded, total }) => progress(total ? loaded / total : 0));
    sent.upload.addEventListener("load", () => progress(1));
    sent.addEventListener("load", () => {
      const id = sent.getResponseHeader("X-Request-ID");
      resolve(new Response(sent.response, { status: sent.status, headers: id ? { "X-Request-ID": id } : {} }));
    });
    sent.addEventListener("error", () => reject(new TypeError("The network failed")));
    sent.addEventListener("abort", () => reject(signal.reason));
    signal.addEventListener("abort", () => sent.abort());
    sent.send(body);
  });
}

function pathOf(id) {
  const steps = id.split("/");
  // Ids whose slashes a URL would misread are encoded as one segment; the others keep them, which more proxies accept.
  const isOdd = steps.some((step) => ["", ".", ".."].includes(step)) || /(^|\/)(chunks|original|pages\/[^/]*\.png)$/.test(id);
  return `documents/${isOdd ? encodeURIComponent(id) : steps.map(encodeURIComponent).join("/")}`;
}

/** The chunks that a strategy makes of a text. */
export const chunk = async (body, signal) => (await post("chunk", body, signal)).json();

/** An answer as a stream of server-sent events. */
export const ask = (body, signal) => post("ask", body, signal);

/** Return the problem of an error event. */
export const problemIn = (error) => new Problem(0, error);

async function read(path, params, signal) {
  const url = new URL(path, document.baseURI.split("#")[0]);
  for (const [name, value] of Object.entries(params)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "") url.searchParams.append(name, String(each));
    }
  }
  const known = answers.get(url.href);
  if (known) return known;
  const answer = await (await request(url, {}, signal)).json();
  // Going back shows the earlier answer at once.
  answers.set(url.href, answer);
  if (answers.size > MOST_KEPT) answers.delete(answers.keys().next().value);
  return answer;
}

function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  const url = new URL(path, document.baseURI.split("#")[0]);
  return request(url, { method: "POST", headers, body: JSON.stringify(body) }, signal);
}

async function request(url, options, signal, send = fetch) {
  for (;;) {
    const key = session.get("key");
    const headers = { ...options.headers, ...(key ? { "X-API-Key": key } : {}) };
    let response;
    try {
      response = await send(url, { ...options, headers, signal, credentials: "same-origin" });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw unreachable();
    }
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (response.status !== 401 || !(await (await import("./key.js")).askForKey(key))) throw problem;
    signal?.throwIfAborted();
  }
}

// Errors in the shape of the service: field, rule, value, remedy.

export class Problem extends Error {
  /**
   * @param {number} status The HTTP status, or 0 without a response.
   * @param {{field?: string, rule: string, value?: unknown, remedy: string}} error
   * @param {string|null} request The X-Request-ID, for finding the request in the log.
   */
  constructor(status, error, request = null) {
    super(`${error.field ? `${error.field} ` : ""}${error.rule}`);
    Object.assign(this, { status, field: error.field ?? null, rule: error.rule, value: error.value, remedy: error.remedy });
    this.request = request;
  }
}

/** Return the problem of a failed response, whether from the service or from a proxy. */
export async function problemOf(response) {
  const request = response.headers.get("X-Request-ID");
  // The service's own message is about headers.
  if (response.status === 401) return new Problem(401, { rule: "The service requires an API key", remedy: "Ask its operator for one." });
  try {
    const { error } = await response.json();
    if (typeof error.rule === "string") return new Problem(response.status, error, request);
  } catch {
    // Not JSON: a proxy's page.
  }
  const rule = `The service responded with status ${response.status}`;
  return new Problem(response.status, { rule, remedy: "Try again later." }, request);
}

/** Return the problem of a request without a response. */
export function unreachable() {
  return new Problem(0, { rule: "The service does not respond", remedy: "Check that it is running, then try again." });
}

/** Return any error as a problem, including errors of the page itself. */
export function asProblem(error) {
  if (error instanceof Problem) return error;
  console.error(error);
  return new Problem(0, { rule: `The page failed: ${error.message}`, remedy: "Reload the page." });
}

/**
 * Return the message of a failed request.
 * @param {unknown} error
 * @param {() => void} [again] Tries once more.
 */
export function failed(error, again) {
  const problem = asProblem(error);
  const needsKey = problem.status === 401;
  const act = async () => {
    if (needsKey) (await import("./key.js")).askAgain();
    again();
  };
  const retry = again && el("button", { type: "button", on: { click: act } }, needsKey ? "Enter a key" : "Try again");
  const given = problem.value !== null && problem.value !== undefined;
  announce(`${problem.message}. ${problem.remedy}`);
  return el(
    "div",
    { class: "state problem" },
    el("p", { class: "state-title" }, problem.message),
    el("p", {}, problem.remedy),
    given && el("p", { class: "quiet" }, "Value: ", el("code", { dir: "auto" }, JSON.stringify(problem.value))),
    problem.request && el("p", { class: "quiet" }, `Request ${problem.request}`),
    retry && el("p", {}, retry),
  );
}

// Requests while the user types: a new one aborts the one before it. Until the view is ready, the last one waits.

export class Latest {
  #controller = null;
  #timer = 0;
  #isReady = false;
  #waiting = null;

  /** @param {AbortSignal} signal Signal of the view, whose end aborts the request. */
  constructor(signal) {
    signal.addEventListener("abort", () => this.stop());
  }

  /** Call a function after a pause in typing; it gets the signal of this call. */
  soon(act, pause = 220) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.now(act), pause);
  }

  /** Call the waiting function, or else the given one; later ones are called at once. */
  async ready(act) {
    this.#isReady = true;
    if (this.#waiting) await this.#waiting();
    else if (act) await this.now(act);
  }

  /** Call a function at once; it gets the signal of this call. */
  async now(act) {
    if (!this.#isReady) {
      await new Promise((done) => (this.#waiting = () => this.now(act).then(done)));
      return;
    }
    this.stop();
    const controller = new AbortController();
    this.#controller = controller;
    try {
      await act(controller.signal);
    } catch (error) {
      if (!controller.signal.aborted) throw error;
    }
  }

  /** Abort the current request. */
  stop() {
    clearTimeout(this.#timer);
    this.#controller?.abort();
  }
}

// Browser storage; where the browser refuses it, values last as long as the page.

const fallback = new Map();

function open(area) {
  return {
    get(name) {
      try {
        return globalThis[area].getItem(`kinsplit.${name}`);
      } catch {
        return fallback.get(area + name) ?? null;
      }
    },
    set(name, value) {
      try {
        if (value === null) globalThis[area].removeItem(`kinsplit.${name}`);
        else globalThis[area].setItem(`kinsplit.${name}`, value);
      } catch {
        fallback.set(area + name, value);
      }
    },
  };
}

/** Kept across visits: the theme, and whether shortcuts are enabled. Never a question, a text or an API key. */
export const kept = open("localStorage");

/** Kept until the tab is closed: the API key, and the text to split. */
export const session = open("sessionStorage");
