// Why a passage was found: the place of its best hit, and the scores of the stages of the search.

import { el } from "../dom.js";
import { nameOf } from "./facts.js";

const STAGES = {
  dense: ["Meaning", "cosine of question and text"],
  bm25: ["Words", "BM25 of the words they share"],
  siblings: ["Siblings", "mean own score of the texts before and after"],
  parent: ["Section", "BM25 of its section"],
  parent_dense: ["Section’s meaning", "cosine of question and section"],
  document: ["Document", "BM25 of the document"],
  best_chunk: ["Best part", "best own score in the document"],
  hybrid: ["Ranks", "sum of the reciprocal ranks by meaning and words"],
  rerank: ["Reranked", "the reranker’s score of the text"],
  rerank_passage: ["Reranked whole", "the reranker’s score of the passage"],
  mmr: ["Diversity", "relevance, less what earlier passages already say"],
  kin: ["Together", "weighted sum, in standard deviations"],
};

/** Return a score as text; sums of reciprocal ranks, which are small, need more digits. */
function written(score) {
  const digits = score && Math.abs(score) < 0.1 ? 4 : 2;
  return score.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
}

/**
 * Return what tells why a passage was found.
 * @param {object} passage
 * @param {object} most The largest value of each stage, against which bars are drawn.
 */
export function reasons({ score, scores, metadata, source_id: id, hits: [best] }, most) {
  const rows = Object.entries(scores).map(([stage, value]) => {
    const [name, meaning] = STAGES[stage] ?? [stage.replaceAll("_", " "), "score of this stage"];
    return el(
      "div",
      { class: "part" },
      el("dt", {}, name, el("span", { class: "quiet" }, ` ${meaning}`)),
      el("dd", {}, bar(stage, value, most[stage]), el("span", { class: "figure" }, written(value))),
    );
  });
  return [
    el("p", { class: "quiet" }, el("bdi", {}, metadata.file_path ?? id), `, ${nameOf(best).toLowerCase()}, score `, el("span", { class: "figure" }, written(score))),
    el("dl", { class: "parts" }, rows),
    el("p", { class: "hint" }, "Each bar is relative to the highest score of its stage among these passages."),
  ];
}

function bar(stage, value, most) {
  const fill = el("span", { class: `fill${value < 0 ? " below" : ""}` });
  fill.style.width = `${most ? (100 * Math.abs(value)) / most : 0}%`;
  return el("span", { class: "bar", data: { stage }, "aria-hidden": "true" }, fill);
}
