// A whole document as its chunks' text, rendered, or as the page of a chunk.

import { el, loading } from "../dom.js";
import { originalButton } from "../passage.js";
import { asProblem, documentOf } from "../service.js";
import { pagePictures } from "./picture.js";
import { rendered } from "./rendered.js";

export class Sheet {
  #way = "chunks";
  #bar = el("div", { class: "looks", role: "group", "aria-label": "View" });
  #body = el("div");
  #text = null;
  #chunk = null;
  #drawing = 0;

  /**
   * @param {object} source Of GET /documents/{id}.
   * @param {() => void} onChange Called when the reader has chosen another way to show the document.
   */
  constructor(source, onChange) {
    this.place = { id: source.id, strategy: source.strategy };
    this.element = el("section", { class: "sheet", "aria-label": "Text" }, this.#bar, this.#body);
    const { view } = source;
    const ways = { chunks: "Text", ...(view.kind ? { rendered: "Formatted" } : {}), ...(view.pages ? { page: "Page" } : {}) };
    for (const [name, label] of Object.entries(ways)) {
      const pressed = String(name === this.#way);
      const act = () => {
        this.#way = name;
        for (const each of this.#bar.querySelectorAll("[aria-pressed]")) each.setAttribute("aria-pressed", String(each === tab));
        this.#draw();
        onChange();
      };
      const tab = el("button", { type: "button", "aria-pressed": pressed, on: { click: act } }, label);
      this.#bar.append(tab);
    }
    if (this.#bar.children.length === 1) this.#bar.replaceChildren();
    if (view.original) this.#bar.append(originalButton(this.place));
    if (!this.#bar.children.length) this.#bar.remove();
  }

  /** Whether the chunks are drawn in the text. */
  get showsChunks() {
    return this.#way === "chunks";
  }

  /** Show a chunk, which is marked in the given text. */
  show(chunk, text) {
    const isSame = this.#chunk === chunk && this.#text === text;
    [this.#chunk, this.#text] = [chunk, text];
    if (!isSame) this.#draw();
  }

  #draw() {
    this.#drawing += 1;
    if (this.#way === "chunks") this.#body.replaceChildren(this.#text);
    else if (this.#way === "page") this.#drawPage();
    else this.#drawRendered(this.#drawing);
  }

  #drawPage() {
    const { pages, start, end } = this.#chunk;
    const failed = (problem) => this.#fail(problem);
    this.#body.replaceChildren(...pagePictures({ ...this.place, pages, start, end, whole: true }, failed).filter(Boolean));
  }

  async #drawRendered(drawing) {
    const { id, strategy } = this.place;
    const { start, end } = this.#chunk;
    if (!this.#body.querySelector(".rendered")) this.#body.replaceChildren(loading("Rendering"));
    try {
      const { view } = await documentOf(id, strategy, undefined, { render: true, start, end });
      if (drawing !== this.#drawing) return;
      if (!view.html) return this.#fail({ message: view.problem });
      const content = rendered(view.html);
      this.#body.replaceChildren(content);
      content.querySelector("mark")?.scrollIntoView({ block: "center" });
    } catch (error) {
      if (drawing === this.#drawing) this.#fail(asProblem(error));
    }
  }

  #fail({ field, message }) {
    const reason = `Shown as text: ${field === "file" ? "the " : ""}${message.replace(/\.$/, "")}.`;
    this.#body.replaceChildren(el("p", { class: "hint" }, reason), this.#text);
  }
}
