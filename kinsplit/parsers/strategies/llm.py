from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from kinsplit import language_models
from kinsplit.chunk import Document
from kinsplit.language_models import LanguageModel
from kinsplit.language_models.registry import NO_MODEL
from kinsplit.language_models.structured import answer_cache
from kinsplit.parsers.base import Cost, Cut, Levels, Measured, garbage_collector, with_blocks
from kinsplit.parsers.llm_boundaries import (
    BoundaryAnswer,
    Outline,
    Segment,
    SegmentPlan,
    answer_tokens,
    ask,
    boundaries,
    budget_of,
    outline,
    plan,
    report,
)
from kinsplit.parsers.packing.groups import Fits, UnitRun, group_units
from kinsplit.parsers.packing.partition import balance, space
from kinsplit.parsers.packing.refine import Refined, Scale, Unit, ladder, refine
from kinsplit.parsers.parameters import Language, ModelField, Size, check_below
from kinsplit.parsers.units.sentences import Units
from kinsplit.tokenizers import resolve

# Paragraphs are merged up to this fraction of chunk_size in boundaries without a model.
_SHARE = 4


class LLMStrategy(Measured):
    r"""Boundaries chosen by a language model, which reads numbered sentences and returns those that begin a chunk.

    The model reads the text in overlapping segments, so that it sees both sides of every boundary. If it gives no
    usable answer, boundaries are drawn by paragraphs and headings, and one `FallbackWarning` reports the reason. Chunks
    above `chunk_size` are divided between sentences into parts of about equal size, and longer sentences between words.
    Answers of models given by name are cached on disk, so the same question is never asked twice.

    Attributes:
        unit: Unit of chunk_size.
        chunk_size: Maximum size of a chunk, in `unit`.
        min_sentences: Minimum sentences between two boundaries.
        max_sentences: Maximum sentences per chunk.
        segment_size: Maximum tokens of text per prompt; fewer if the context window of the model is smaller.
        fallback: Without a usable answer: use paragraphs and headings ("rules") or raise an error ("error").
        concurrency: Maximum number of concurrent requests to the model.
        timeout: Seconds to wait for an answer; only for models given by name.

    Example:
        >>> from kinsplit import split
        >>> text = "# A\n\nOne two.\n\n# B\n\nThree."
        >>> [chunk.text for chunk in split(text, "llm", model="none", chunk_size=4)]
        ['# A\n\nOne two.', '# B\n\nThree.']
    """

    name = "llm"
    summary = "Boundaries chosen by a language model, or by paragraphs and headings if it doesn't answer"
    origin = "notebook (Ollama llama3); 500 words as its semantic chunks"
    resources: ClassVar[Mapping[str, str]] = {**Measured.resources, "model": '"ollama:MODEL" or "openai:MODEL"'}
    incidental: ClassVar[frozenset[str]] = frozenset({"concurrency", "timeout", "fallback"})

    model: ModelField = "ollama:llama3"
    unit: Unit = "word"
    chunk_size: Size = 500
    min_sentences: Size = 1
    max_sentences: Size | None = None
    segment_size: Size = 2000
    language: Language = "auto"
    fallback: Literal["rules", "error"] = "rules"
    concurrency: Annotated[int, Field(gt=0, le=256, strict=True)] = 4
    timeout: Annotated[float, Field(gt=0)] = 300.0

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.max_sentences is not None:
            check_below("min_sentences", self.min_sentences, "max_sentences", self.max_sentences + 1)
        if isinstance(self.model, str) and self.model != NO_MODEL and not self.model.startswith("object:"):
            language_models.check(self.model)
        return self

    def cost(self, texts: Sequence[str]) -> Cost:
        """See `Strategy.cost`; repeated questions after unusable answers are not included."""
        model = self._model()
        if model is None:
            return Cost()
        cache = answer_cache()
        tokenizer = resolve(self.tokenizer)
        outlines = (outline(Document("", text), self.language) for text in texts)
        plans = (self._plan(text, o.units.units, model) for text, o in zip(texts, outlines, strict=True))
        total = Cost()
        for question in {q.digest(): q for each in plans for q in each.questions(self._sizes())}.values():
            prompt = question.prompt()
            if cache.get(model, prompt):
                total += Cost(kept=1)
            else:
                total += Cost(1, int(tokenizer.count([prompt])[0]), answer_tokens(question.sentences))
        return total

    def _cut_outlined(self, documents: Sequence[Document]) -> list[Levels]:
        texts = [document.text for document in documents]
        outlines = [outline(document, self.language) for document in documents]
        # Before any request, since this raises the error for texts that can't be split.
        rungs = ladder(self._ruler, self.chunk_size, self.language)
        refined = refine(texts, [o.units for o in outlines], self._ruler, self.chunk_size, rungs)
        starts = self._starts(texts, outlines, refined)
        edges = [np.searchsorted(r.origin, s).tolist() for r, s in zip(refined, starts, strict=True)]

        def grouping(i: int, fits: Fits | None) -> list[UnitRun]:
            own, size = refined[i], self.chunk_size
            stretches = map(UnitRun, edges[i], [*edges[i][1:], len(own.origin)])
            return [run for whole in stretches for run in balance(own.scale, whole, size, own.levels, fits)]

        grouped = group_units(texts, refined, self._ruler, self.chunk_size, grouping)
        cuts = [[Cut((g.span,), tokens=g.tokens) for g in groups] for groups in grouped]
        return [[with_blocks(t, o.sections, own)] for t, o, own in zip(texts, outlines, cuts, strict=True)]

    def _starts(self, texts: Sequence[str], outlines: Sequence[Outline], refined: Sequence[Refined]) -> list[list[int]]:
        """Return the sentences of each text that begin a chunk, within min_sentences and max_sentences."""
        model = self._model()
        found: list[list[int]] = []
        if model is None:
            found = [self._rule_starts(o, r) for o, r in zip(outlines, refined, strict=True)]
        else:
            plans = [self._plan(text, o.units.units, model) for text, o in zip(texts, outlines, strict=True)]
            questions = [question for each in plans for question in each.questions(self._sizes())]
            with garbage_collector(runs=True):
                answers = ask(model, questions, answer_cache(), self.concurrency) if questions else []
            report(answers, as_error=self.fallback == "error")
            following = iter(answers)
            for each, o, r in zip(plans, outlines, refined, strict=True):
                found.append(self._merge_answers(each.segments, [next(following) for _ in each.segments], o, r))
        totals, least, most = [len(o.units.levels) for o in outlines], self.min_sentences, self.max_sentences
        return [space(starts, total, least, most) for starts, total in zip(found, totals, strict=True)]

    def _merge_answers(
        self, segments: Sequence[Segment], answers: Sequence[BoundaryAnswer], found: Outline, refined: Refined
    ) -> list[int]:
        """Merge the answers on a text's segments, with rules for segments without an answer."""
        starts: list[int] = []
        by_rules = self._rule_starts(found, refined) if any(answer.problem for answer in answers) else []
        for segment, answer in zip(segments, answers, strict=True):
            known = min(segment.end, segment.first + answer.known)
            named = (segment.first + start for start in answer.starts)
            starts += [start for start in named if segment.begin <= start < known]
            starts += [start for start in by_rules if max(known, segment.begin) <= start < segment.end]
        return starts

    def _rule_starts(self, found: Outline, refined: Refined) -> list[int]:
        scale = _scale_of_sentences(refined, len(found.units.levels))
        return boundaries(scale, found, self.chunk_size // _SHARE, self.chunk_size)

    def _plan(self, text: str, sentences: Units, model: LanguageModel) -> SegmentPlan:
        # No boundary is possible.
        if len(sentences.starts) < 2 * self.min_sentences:
            return SegmentPlan([], [])
        return plan(text, sentences, resolve(self.tokenizer), budget_of(model.window, self.segment_size))

    def _model(self) -> LanguageModel | None:
        return None if self.model == NO_MODEL else language_models.resolve(self.model, self.timeout)

    def _sizes(self) -> str:
        most = "" if self.max_sentences is None else f" and at most {self.max_sentences}"
        least = f"at least {self.min_sentences}" if self.min_sentences > 1 else ""
        counts = f"{least}{most}".removeprefix(" and ")
        rule = f" It has {counts} sentences." if counts else ""
        return f"A chunk holds at most {self.chunk_size} {self.unit}s.{rule}"


def _scale_of_sentences(refined: Refined, total: int) -> Scale:
    """Return the lengths of sentences, each the sum of its units."""
    firsts = np.searchsorted(refined.origin, np.arange(total))
    lasts = np.searchsorted(refined.origin, np.arange(total), side="right") - 1
    return Scale(refined.scale.left[firsts], refined.scale.right[lasts])
