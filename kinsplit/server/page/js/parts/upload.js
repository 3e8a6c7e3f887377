// Upload of files: a picker that is also a place to drop files on, and a line for each file.

import { announce, counted, el, freshId } from "../dom.js";
import * as service from "../service.js";

/**
 * Make the part.
 * @param {{max_bytes: number, suffixes: string[]}} rules
 * @param {() => string} strategy Returns the collection to add to.
 * @param {() => Promise<void>} done Called when files have been added.
 * @param {AbortSignal} signal
 */
export function upload(rules, strategy, done, signal) {
  const id = freshId("upload");
  const most = size(rules.max_bytes);
  const input = el("input", {
    id,
    type: "file",
    multiple: true,
    accept: rules.suffixes.join(","),
    "aria-describedby": `${id}-hint`,
    on: { change: pick },
  });
  const lines = el("ul", { class: "uploads", "aria-label": "Uploads", hidden: true });
  const zone = el(
    "div",
    { class: "drop", on: { dragenter: over, dragover: over, dragleave: leave, drop } },
    el("label", { for: id }, "Add files"),
    input,
    el("p", { class: "hint", id: `${id}-hint` }, `Choose files, or drop them here. At most ${most} each.`),
  );
  let queue = Promise.resolve();
  return el("section", { class: "uploading", "aria-label": "Upload" }, zone, lines);

  function over(event) {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    zone.classList.add("over");
  }

  function leave(event) {
    if (!zone.contains(event.relatedTarget)) zone.classList.remove("over");
  }

  function drop(event) {
    event.preventDefault();
    zone.classList.remove("over");
    add([...event.dataTransfer.files]);
  }

  function pick() {
    add([...input.files]);
    input.value = ""; // The same file can be chosen again.
  }

  function add(files) {
    lines.hidden = false;
    const name = strategy();
    // One after the other, in the order of the lines.
    const waiting = files.map((file) => [file, line(file.name)]);
    queue = queue.then(() => send(waiting, name));
  }

  async function send(waiting, name) {
    let added = 0;
    for (const [file, show] of waiting) {
      if (signal.aborted) return;
      try {
        if (file.size > rules.max_bytes) throw new Error(`It is larger than ${most}.`);
        const [row] = (await service.upload(file, name, show.progress, signal)).files;
        if (row.error) show.failed(row.error);
        else {
          show.added(row);
          added += 1;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error.constructor === Error) show.failed(error.message);
        else {
          const problem = service.asProblem(error);
          show.failed(`${problem.message}. ${problem.remedy}`);
        }
      }
    }
    if (added) await done();
    const failed = waiting.length - added;
    announce(`${counted(added, "file")} added${failed ? `, ${failed.toLocaleString("en")} failed` : ""}`);
  }

  function line(name) {
    const bar = el("progress", { max: 1, value: 0, "aria-label": `Progress of ${name}` });
    const state = el("span", { class: "quiet" }, "Waiting");
    lines.append(el("li", {}, el("bdi", { class: "name" }, name), bar, state));
    return {
      progress(share) {
        bar.value = share;
        state.textContent = share < 1 ? "Sending" : "Reading and indexing";
        if (share >= 1) bar.removeAttribute("value"); // Nobody knows how long that takes.
      },
      added({ chunks, warnings }) {
        bar.remove();
        state.className = "good";
        state.textContent = [`Added: ${counted(chunks, "chunk")}`, ...warnings].join(". ");
      },
      failed(reason) {
        bar.remove();
        state.className = "poor";
        state.textContent = `Not added: ${reason}`;
      },
    };
  }
}

function size(bytes) {
  const [unit, name] = bytes < 1e6 ? [1e3, "kB"] : [1e6, "MB"];
  return `${Math.floor(bytes / unit).toLocaleString("en")} ${name}`;
}
