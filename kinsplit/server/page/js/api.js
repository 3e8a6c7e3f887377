// Requests to the service. URLs are relative, since it may be served below a path.

import { askForKey } from "./key.js";
import { Problem, problemOf, unreachable } from "./problem.js";
import { session } from "./storage.js";

const MOST_KEPT = 40;
const answers = new Map();

/** Search. `params` are those of GET /search. */
export const search = (params, signal) => read("search", { ...params, render: true }, signal);

/** Strategies, indexed collections, rankings and rerankers. */
export const strategies = (signal) => read("strategies", {}, signal);

/** The metadata that documents can be filtered by. */
export const filters = (params, signal) => read("filters", params, signal);

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
    if (response.status !== 401 || !(await askForKey(key))) throw problem;
    signal?.throwIfAborted();
  }
}
