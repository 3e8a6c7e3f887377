// A score with bars for its stages.

import { el } from "../dom.js";

const STAGES = {
  dense: ["Meaning", "cosine of question and chunk"],
  bm25: ["Words", "BM25 of the words they share"],
  siblings: ["Siblings", "mean own score of the chunks before and after"],
  parent: ["Parent", "BM25 of its section"],
  parent_dense: ["Parent’s meaning", "cosine of question and section"],
  document: ["Document", "BM25 of the document"],
  best_chunk: ["Best chunk", "best own score in the document"],
  hybrid: ["Ranks", "sum of the reciprocal ranks by meaning and words"],
  rerank: ["Reranked", "the reranker’s score of the chunk"],
  rerank_passage: ["Reranked whole", "the reranker’s score of the passage"],
  mmr: ["Diversity", "relevance, less what earlier passages already say"],
  kin: ["Together", "weighted sum, in standard deviations"],
};

/**
 * Return the largest value of each stage, against which bars are drawn.
 * @param {{scores: object}[]} passages
 */
export function largest(passages) {
  const most = {};
  for (const { scores } of passages) {
    for (const [stage, value] of Object.entries(scores)) most[stage] = Math.max(most[stage] ?? 0, Math.abs(value));
  }
  return most;
}

/** Return a score as text; sums of reciprocal ranks, which are small, need more digits. */
export function written(score) {
  const digits = score && Math.abs(score) < 0.1 ? 4 : 2;
  return score.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
}

/**
 * Return a score that expands into its stages.
 * @param {number} score
 * @param {object} scores By stage, in the order of the stages.
 * @param {object} most Result of `largest`.
 */
export function scoreBar(score, scores, most) {
  const stages = Object.entries(scores);
  const slim = stages.map(([stage, value]) => bar(stage, value, most[stage]));
  const rows = stages.map(([stage, value]) => {
    const [name, meaning] = STAGES[stage] ?? [stage.replaceAll("_", " "), "score of this stage"];
    return el(
      "div",
      { class: "part" },
      el("dt", {}, name, el("span", { class: "quiet" }, ` ${meaning}`)),
      el("dd", {}, bar(stage, value, most[stage]), el("span", { class: "figure" }, written(value))),
    );
  });
  return el(
    "details",
    { class: "score" },
    el(
      "summary",
      {},
      el("span", { class: "slim", "aria-hidden": "true" }, slim),
      el("span", { class: "hidden-text" }, "Score "),
      el("span", { class: "figure" }, written(score)),
    ),
    el("dl", { class: "parts" }, rows),
    el("p", { class: "hint" }, "Each bar is relative to the highest score of its stage among these passages."),
  );
}

function bar(stage, value, most) {
  const fill = el("span", { class: `fill${value < 0 ? " below" : ""}` });
  fill.style.width = `${most ? (100 * Math.abs(value)) / most : 0}%`;
  return el("span", { class: "bar", data: { stage }, "aria-hidden": "true" }, fill);
}
