// The Documents view.

import { show } from "../dialog.js";
import { announce, counted, el, empty, line, loading } from "../dom.js";
import { restate } from "../main.js";
import { collections, strategyChoice } from "../parts/options.js";
import { upload } from "../parts/upload.js";
import { documentAddress, fileOf, titleOf } from "../passage.js";
import { KINDS } from "../search.js";
import * as service from "../service.js";

const PAGE = 500;
// "lecture_2" before "lecture_10".
const byNumber = ({ id: one }, { id: other }) => one.localeCompare(other, "en", { numeric: true });

export async function mount(root, params, { signal }) {
  const list = el("div", {}, loading("Listing"));
  const heading = el("h1", { tabindex: -1 }, "Documents");
  root.append(heading, list);
  let catalogue;
  try {
    catalogue = await service.strategies(signal);
  } catch (error) {
    if (!signal.aborted) list.replaceChildren(service.failed(error, () => location.reload()));
    return;
  }
  const picks = el(
    "form",
    { class: "fields" },
    strategyChoice(catalogue, params.get("strategy")),
    line("Filter by name", "part", params.get("part")),
  );
  heading.after(picks);
  picks.addEventListener("submit", (event) => event.preventDefault());
  picks.elements.strategy.addEventListener("change", load);
  picks.elements.part.addEventListener("input", draw);
  const { uploads } = catalogue;
  if (uploads) picks.after(upload(uploads, () => picks.elements.strategy.value, changed, signal));
  let strategy;
  let rows = [];
  let total = 0;
  await load();

  async function load() {
    [rows, total] = [[], 0];
    await more();
  }

  async function changed() {
    const now = collections(await service.strategies(signal));
    for (const option of picks.elements.strategy.options) {
      option.textContent = now.find(({ value }) => value === option.value)?.label ?? option.textContent;
    }
    await load();
  }

  async function more() {
    strategy = picks.elements.strategy.value;
    const asked = strategy;
    try {
      const page = await service.documents({ strategy, offset: rows.length, limit: PAGE }, signal);
      if (asked !== strategy) return;
      rows = [...rows, ...page.documents];
      total = page.total;
      draw();
    } catch (error) {
      if (!signal.aborted) list.replaceChildren(service.failed(error, more));
    }
  }

  /** The uploaded file that a document comes from: itself, or for a row what its id has before the "#". */
  function fileOf(id) {
    const folder = uploads && `${uploads.folder}/`;
    return folder && id.startsWith(folder) ? folder + id.slice(folder.length).split("#")[0] : null;
  }

  function remover(id) {
    const file = fileOf(id);
    if (!file) return null;
    const act = () => remove(file, file === id ? "" : " with all of its rows");
    const label = `Delete ${file}`;
    return el("button", { type: "button", class: "plain", "aria-label": label, on: { click: act } }, "Delete");
  }

  async function remove(id, rows) {
    const form = el(
      "form",
      { method: "dialog" },
      el("p", {}, el("bdi", {}, id), ` is removed from the index${rows}, and the uploaded file is deleted.`),
      el(
        "p",
        { class: "row end" },
        el("button", { type: "submit", value: "" }, "Cancel"),
        el("button", { type: "submit", value: "delete", class: "main" }, "Delete"),
      ),
    );
    if ((await show("Delete this document?", [form])) !== "delete") return;
    try {
      await service.remove(id, strategy, signal);
      await changed();
      heading.focus();
      announce(`Deleted ${id}`);
    } catch (error) {
      if (!signal.aborted) list.replaceChildren(service.failed(error, load));
    }
  }

  function item({ id, title, file_type: kind }) {
    const file = title && fileOf(id);
    return el(
      "li",
      {},
      el("a", { id: `document-${id}`, href: documentAddress(id, strategy) }, el("bdi", {}, titleOf(id, { title }))),
      el("span", { class: "quiet" }, file && el("bdi", { title: id }, file), file && kind && " · ", KINDS[kind] ?? kind),
      remover(id),
    );
  }

  function draw() {
    const part = picks.elements.part.value.trim();
    restate("documents", { strategy, part });
    const sought = part.toLowerCase();
    const shown = rows.filter((row) => [row.id, row.title, row.course].some((name) => name?.toLowerCase().includes(sought)));
    const courses = [...Map.groupBy(shown, ({ course }) => course)].sort(([one], [other]) => (one === null) - (other === null));
    const lists = courses.map(([course, own]) => [
      courses.length > 1 && el("h2", {}, el("bdi", {}, course ?? "Other documents"), el("span", { class: "quiet" }, counted(own.length, "document"))),
      el("ul", { class: "documents" }, own.sort(byNumber).map(item)),
    ]);
    const rest = total - rows.length;
    const button = rest > 0 && el("button", { type: "button", on: { click: more } }, `Show more (${rest.toLocaleString("en")})`);
    const nothing = total ? empty("No document matches") : empty("Nothing is indexed yet");
    list.replaceChildren(
      el("p", { class: "count" }, `${counted(shown.length, "document")} of ${total.toLocaleString("en")}`),
      ...(lists.length ? lists.flat().filter(Boolean) : [nothing]),
      button || "",
    );
    announce(counted(shown.length, "document"));
  }
}
