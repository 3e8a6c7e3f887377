"""The events of an answer: search, prompt, the model's streamed answer, and its check against the sources.

If no model answers, the answer consists of the best statements of the sources.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise

import numpy as np

from kinsplit.answering import values
from kinsplit.answering.attempt import Attempt, Fault, Marker, MarkerReader
from kinsplit.answering.checking import LONGEST, SourceComparison, SourcePart, check, is_prose, statements, verdict
from kinsplit.answering.prompt import NOT_FOUND, REMINDER, build_prompt, fit, number, room, says_not_found
from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import LanguageModelError
from kinsplit.index import Index
from kinsplit.keywords import SearchKeywords
from kinsplit.language_models import LanguageModel, stream
from kinsplit.options import AnswerOptions
from kinsplit.retrieval import Passage
from kinsplit.spans import Span, overlap, unite
from kinsplit.support.telemetry import model_span, span


class Draft:
    """The answer so far."""

    def __init__(self, question: str, sources: Sequence[values.Source]) -> None:
        self.question, self.sources = question, tuple(sources)
        self.text = ""
        self.citations: list[values.Citation] = []
        self.notices: list[values.Notice] = []

    def piece(self, text: str) -> values.TextPiece:
        """Add a piece of text."""
        self.text += text
        return values.TextPiece(text)

    def marker(self, marker: Marker, span: Span | None = None) -> values.CitationFound:
        """Add a marker with the cited slice of the document; None for the whole source."""
        at = Span(len(self.text), len(self.text) + len(marker.text))
        self.text += marker.text
        found = tuple(self._citation(number, at, span) for number in marker.numbers)
        self.citations.extend(found)
        return values.CitationFound(marker.text, found)

    def notice(self, kind: values.NoticeKind, message: str) -> values.Notice:
        """Add a notice."""
        notice = values.Notice(kind, message)
        self.notices.append(notice)
        return notice

    def finish(
        self, verdict: values.Verdict, model: str | None = None, checks: Sequence[values.Check] = ()
    ) -> values.Finished:
        """Return the whole answer."""
        citations, notices = tuple(self.citations), tuple(self.notices)
        return values.Finished(
            values.Answer(self.question, self.text, verdict, model, self.sources, citations, tuple(checks), notices)
        )

    def _citation(self, number: int, at: Span, span: Span | None) -> values.Citation:
        source = next((source for source in self.sources if source.number == number), None)
        if source is None:
            return values.Citation(number, at, None, None, None)
        if span is None:
            return values.Citation(number, at, source, Span(source.spans[0].start, source.spans[-1].end), source.best)
        return values.Citation(number, at, source, span, source.chunk_at(span))


Events = Generator[values.Event, None, None]

# The answer takes at most a quarter of a model's window.
_SHARE = 4
# Characters that end a complete sentence, closing quotation marks and brackets among them.
_STOPS = ".!?…。！？؟।\"'”’»)]*_`"
_FAULTS: dict[Fault, str] = {
    "": "said nothing",
    "uncited": "cited no passage, even when it was asked again",
    "echo": "repeated its instructions, even when it was asked again",
    "loop": "repeated itself and was stopped",
    "tags": "repeated the tags of its prompt and was stopped",
}
_BEST_SENTENCES = "These are the best sentences that were found."


def run(
    index: Index, question: str, model: LanguageModel | None, options: AnswerOptions, search: SearchKeywords
) -> Events:
    """Answer a question; see `kinsplit.answering.answer`, which validates the arguments."""
    longest = 0 if model is None else min(options.max_tokens, max(1, model.window // _SHARE))
    budget = search.get("budget")
    if model is not None and budget is not None:
        search = {**search, "budget": max(1, min(budget, room(question, model.window, longest)))}
    passages = index.search(question, **search)
    found = number(passages)
    fitting = found if model is None else fit(question, passages, model.window, longest)
    draft = Draft(question, fitting or found)
    yield values.SourcesFound(draft.sources)
    if not found:
        yield draft.notice("nothing_found", " ".join(("No passage was found.", *passages.unmatched)))
        yield draft.piece(NOT_FOUND)
        yield draft.finish("not_in_material")
        return
    for kind, remark in passages.remarks.items():
        yield draft.notice(kind, remark)
    if model is None:
        yield draft.notice("no_model", f"No model was asked. {_BEST_SENTENCES}")
        yield from _quote(draft, index)
    elif not fitting:
        message = f"{model.name} was not asked: its window of {model.window} tokens holds no passage. {_BEST_SENTENCES}"
        yield draft.notice("left_out", message)
        yield from _quote(draft, index)
    else:
        if message := _left_out(found, fitting, model):
            yield draft.notice("left_out", message)
        yield from _answer(draft, index, model, longest, options.min_support)


def _answer(draft: Draft, index: Index, model: LanguageModel, longest: int, min_support: float) -> Events:
    """Let a model answer from the draft's sources, and check its answer."""
    with model_span("chat", model.name) as record:
        record({"gen_ai.request.max_tokens": longest}, passages=len(draft.sources))
        prompt = build_prompt(draft.question, draft.sources)
        failure, is_cut, fault = yield from _stream(draft, model, prompt, longest)
        if fault in ("uncited", "echo") and not draft.text:
            failure, is_cut, fault = yield from _stream(draft, model, prompt + REMINDER, longest)
        record(characters=len(draft.text))
    if not draft.text.strip():
        why = failure or f"{model.name} {_FAULTS[fault]}."
        yield draft.notice("model_failed", f"No model answered: {why} {_BEST_SENTENCES}")
        yield from _quote(draft, index)
        return
    if fault == "loop":
        failure = failure or f"{model.name} {_FAULTS[fault]}."
    if failure:
        yield draft.notice("model_failed", f"The answer broke off: {failure}")
    if is_cut:
        yield draft.notice("cut_short", f"The answer was cut off at its longest of {longest} tokens.")
    if unknown := dict.fromkeys(citation.number for citation in draft.citations if citation.source is None):
        numbers = ", ".join(f"[{number}]" for number in unknown)
        message = f"The answer cites {numbers}, but the passages are numbered 1 to {len(draft.sources)}."
        yield draft.notice("no_such_source", message)
    with span("kinsplit.ask.check", {"citations": len(draft.citations)}) as record:
        checks = check(draft.text, draft.citations, index.embedder, index.bm25, min_support)
        record(sentences=len(checks))
    if failure or is_cut:
        checks = _without_fragment(checks, draft.text)
    if failure:
        found: values.Verdict = "broken_off"
    elif len(unknown) == len({citation.number for citation in draft.citations}) and says_not_found(draft.text):
        # Anything else that it says is checked like any other answer.
        found, checks = "not_in_material", [each for each in checks if not says_not_found(each.text)]
    else:
        found = verdict(checks)
    yield draft.finish(found, model.name, checks)


def _stream(
    draft: Draft, model: LanguageModel, prompt: str, longest: int
) -> Generator[values.Event, None, tuple[str, bool, Fault]]:
    """Stream a model's answer, and return the reason if it failed, whether it was cut off, and its fault."""
    reader, attempt, failure, is_cut = MarkerReader(), Attempt(draft.sources), "", False
    try:
        with closing(stream(model, prompt, longest)) as pieces:
            while not attempt.is_stopped:
                try:
                    piece = next(pieces)
                except StopIteration as end:
                    is_cut = bool(end.value)
                    break
                if not attempt.is_shown:
                    # So that whoever listens can stop the model at any piece.
                    yield values.Withheld()
                yield from _add(draft, attempt.feed(reader.feed(piece)))
    except LanguageModelError as error:
        failure = str(error)
    yield from _add(draft, attempt.feed(reader.finish()))
    yield from _add(draft, attempt.finish())
    return failure, is_cut, attempt.fault


def _add(draft: Draft, parts: Iterable[str | Marker]) -> Generator[values.TextPiece | values.CitationFound, None, None]:
    for part in parts:
        yield draft.marker(part) if isinstance(part, Marker) else draft.piece(part)


def _quote(draft: Draft, index: Index) -> Events:
    """Quote the best sentences of the sources."""
    for position, quote in enumerate(quotes(draft.question, draft.sources, index.embedder, index.bm25)):
        yield draft.piece(("\n\n" if position else "") + f"{quotation(quote)} ")
        yield draft.marker(Marker(f"[{quote.source.number}]", (quote.source.number,)), quote.source.locate(*quote.at))
    yield draft.finish("quoted")


def _left_out(found: list[values.Source], fitting: list[values.Source], model: LanguageModel) -> str:
    """Return a message about sources that a model's window has no room for; empty if all fit."""
    whole = {source.text for source in fitting}
    # One passage may have become several, of a hit each.
    united = [(other.best.source_id, unite(other.spans)) for other in fitting]
    kept = [one for one in found if any(one.best.source_id == id_ and overlap(one.spans, own) for id_, own in united)]
    shortened, missing = sum(source.text not in whole for source in kept), len(found) - len(kept)
    parts = [f"{shortened} shortened"] * bool(shortened) + [f"{missing} left out"] * bool(missing)
    if not parts:
        return ""
    return f"Of {len(found)} passages, {' and '.join(parts)} to fit the window of {model.name}, {model.window} tokens."


def _without_fragment(checks: list[values.Check], text: str) -> list[values.Check]:
    """Leave out the check of an unfinished last sentence, whose citations may be missing."""
    rest = text.rstrip()
    is_fragment = (
        checks and checks[-1].status == "uncited" and checks[-1].at.end == len(rest) and rest[-1] not in _STOPS
    )
    return checks[:-1] if is_fragment else checks


#: Maximum number of quotations, and of quotations of one source.
MOST, MOST_OF_SOURCE = 4, 2
# Weight of a source's rank relative to a statement's score: the search has read more than one sentence.
_RANK_WEIGHT = 0.1
# Least score of a further quotation, as a share of the best one's.
_LEAST = 0.5
# What a list, a table or code loses against a sentence, since a longer part shares more words with a question.
_LENGTH_WEIGHT = 0.15


def quotes(question: str, sources: Sequence[values.Source], embedder: Embedder, bm25: Bm25Embedder) -> list[SourcePart]:
    """Return the statements of sources that are most similar to a question, best first.

    They are ranked by the sum of their relative similarity to the question and their share of its words, and by the
    rank of their source. Two adjacent sentences of a paragraph may be taken together. Whatever is no statement by
    itself, such as a heading, is left out (see `kinsplit.answering.checking`), unless there is nothing else.
    """
    groups = [[SourcePart(source, span) for span in group] for source in sources for group in statements(source)]
    if not groups:
        groups = [[SourcePart(source, Span(0, len(source.text)))] for source in sources if source.text.strip()]
    comparison = SourceComparison(groups, embedder, bm25)
    scores = comparison.similarities(embedder.embed_query(question)) + comparison.overlaps(question)
    ranks = np.asarray([part.source.number for part in comparison.parts], dtype=np.float32)
    long = np.asarray([not is_prose(part.source, part.text) for part in comparison.parts], dtype=np.float32)
    order = np.argsort(-(scores - _RANK_WEIGHT * ranks - _LENGTH_WEIGHT * long), kind="stable").tolist()
    best = float(scores[order[0]]) if order else 0.0
    least = min(best, _LEAST * best)
    return list(_select([comparison.parts[index] for index in order if scores[index] >= least]))


# What a highlight loses per character, so that a longer one needs more words of the question.
_CHARACTER_WEIGHT = 0.0003
# Characters of a list, a table or code that is highlighted as a whole; of a longer one, the best line or two are.
_LONGEST_HIGHLIGHT = 300


def highlight(question: str, passage: Passage, index: Index) -> tuple[Span, bool]:
    """Return the span, in its document, of what answers a question: the best one or two sentences of a passage's hits.

    They are those with most words of the question, since a model would take longer than the search. If none has any,
    it is the sentence in which the best hit begins, and False.
    """
    source = number([passage])[0]
    hits = unite(span for hit in passage.hits for span in hit.chunk.spans)
    whole = statements(source)
    groups = [[SourcePart(source, at) for part in group for at in _short(source, part)] for group in whole]
    found = [[part for part in group if overlap([source.locate(*part.at)], hits)] for group in groups]
    comparison = SourceComparison(found, index.embedder, index.bm25)
    overlaps = comparison.overlaps(question)
    if overlaps.any():
        lengths = np.asarray([part.at.end - part.at.start for part in comparison.parts])
        other = unite(at for group in whole for at in group if not is_prose(source, source.text[at.start : at.end]))
        is_other = np.asarray([bool(overlap([part.at], other)) for part in comparison.parts])
        scores = overlaps - _CHARACTER_WEIGHT * lengths - _LENGTH_WEIGHT * is_other
        best = comparison.parts[int(np.argmax(scores))]
        return source.locate(*best.at), True
    spans = (source.locate(*part.at) for part in comparison.parts)
    own = passage.best.chunk.spans
    return next((span for span in spans if overlap([span], own)), own[0]), False


def _short(source: values.Source, at: Span) -> list[Span]:
    """Return a part of a source, or its lines if it is too long to be highlighted as a whole."""
    if at.end - at.start <= _LONGEST_HIGHLIGHT:
        return [at]
    starts = [at.start, *(n + 1 for n in range(at.start, at.end) if source.text[n] == "\n"), at.end]
    return [Span(*line) for line in pairwise(starts) if source.text[slice(*line)].strip()]


def quotation(part: SourcePart) -> str:
    """Return a part in quotation marks: prose on one line, all else line by line; shortened if long."""
    if is_prose(part.source, part.text):
        text = " ".join(part.text.split())
        cut = text.rfind(" ", 0, LONGEST)
    else:
        text = "\n".join(line.rstrip() for line in part.text.splitlines() if line.strip())
        cut = text.rfind("\n", 0, LONGEST)
    return f"“{text if len(text) <= LONGEST else f'{text[: cut if cut > 0 else LONGEST].rstrip()} …'}”"


def _select(ranked: Sequence[SourcePart]) -> Iterator[SourcePart]:
    taken: list[SourcePart] = []
    for part in ranked:
        own = [other for other in taken if other.source is part.source]
        repeats = any(other.text == part.text for other in taken)
        crosses = any(other.at.start < part.at.end and part.at.start < other.at.end for other in own)
        if len(own) < MOST_OF_SOURCE and not repeats and not crosses:
            taken.append(part)
            yield part
        if len(taken) == MOST:
            return
