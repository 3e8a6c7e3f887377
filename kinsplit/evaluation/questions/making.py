"""Sections are asked about until there are enough questions, and each that is dropped is counted by its reason."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kinsplit.chunk import Document
from kinsplit.errors import InvalidParameterError, LanguageModelError
from kinsplit.evaluation.labels import Label, Question
from kinsplit.evaluation.questions.filters import EXCERPTS, Filters, reason_of_form
from kinsplit.evaluation.questions.grounding import Corpus
from kinsplit.evaluation.questions.prompt import ANSWER, Answer, Written, prompt_of, quoted
from kinsplit.evaluation.questions.sections import TOKENS, Section, sections_of, spread
from kinsplit.language_models import resolve as resolve_model
from kinsplit.language_models.asker import Asker
from kinsplit.language_models.cache import answer_cache
from kinsplit.parsers import Cost
from kinsplit.tokenizers import resolve

#: Most questions that one answer holds; more of them grow alike.
_TOGETHER = 5
#: So many times the sections that are needed are asked about at most.
_PATIENCE = 3
# Tokens of the instruction; and how many of a model's own tokens one of ours may be.
_INSTRUCTION, _MARGIN = 300, 1.5


@dataclass(frozen=True)
class Made:
    """Questions that were made.

    Attributes:
        questions: Each with labels; their places inside the section that was asked about come first.
        sections: Sections that were asked about.
        asked: Questions that the model wrote and that were looked at.
        dropped: By reason, how many of them were dropped, and how many sections gave none.
    """

    questions: tuple[Question, ...]
    sections: int
    asked: int
    dropped: Mapping[str, int]


@dataclass(frozen=True)
class _Plan:
    """Which sections are asked about, in which order, and for how many questions each."""

    sections: list[Section]
    together: int

    def prompts(self) -> Iterator[tuple[Section, str]]:
        for section in self.sections:
            yield section, prompt_of(section, self.together, EXCERPTS)


def make_questions(
    documents: Sequence[Document],
    model: object,
    number: int,
    filters: Filters,
    *,
    seed: int = 0,
    told: Callable[[], None] = lambda: None,
) -> Made:
    """Make questions about documents.

    Args:
        documents: The documents.
        model: What `kinsplit.language_models.resolve` takes. Answers of one that has an identity are kept, so that a
            run that was stopped goes on where it was.
        number: How many are wanted. There are fewer where too many are dropped.
        filters: Decide which are kept.
        seed: Chooses the sections.
        told: Is called whenever one more is kept.

    Raises:
        InvalidParameterError: The number isn't positive, there is no text, or the model's window is too small.
        LanguageModelError: The model is away, or said nothing that can be used three times in a row.
    """
    asker = Asker(model, answer_cache())
    plan = _planned(documents, number, seed, asker.model.window)
    corpus = Corpus(documents)
    questions: list[Question] = []
    dropped: Counter[str] = Counter()
    sections = asked = 0
    for section, prompt in plan.prompts():
        if len(questions) >= number:
            break
        sections += 1
        try:
            written = asker.ask(prompt, Answer, ANSWER * plan.together).questions
        except LanguageModelError:
            if asker.given_up:
                raise
            dropped["no usable answer"] += 1
            continue
        if not written:
            dropped["no question about the section"] += 1
        for one in written:
            if len(questions) >= number:
                break
            asked += 1
            found = _checked(one, section, corpus, filters)
            if isinstance(found, str):
                dropped[found] += 1
            else:
                questions.append(found)
                told()
    return Made(tuple(questions), sections, asked, dict(dropped))


def cost_of(documents: Sequence[Document], model: object, number: int, *, seed: int = 0) -> Cost:
    """Return what it costs to make questions if none is dropped; nothing is asked.

    Args:
        documents: The documents.
        model: Would be asked.
        number: How many are wanted.
        seed: Chooses the sections.

    Raises:
        InvalidParameterError: As `make_questions`.
    """
    asked, cache = resolve_model(model), answer_cache()
    plan = _planned(documents, number, seed, asked.window)
    tokenizer = resolve("bundled")
    needed = -(-number // plan.together)
    total = Cost()
    for _, prompt in list(plan.prompts())[:needed]:
        if cache.get_text(asked, prompt) is not None:
            total += Cost(kept=1)
        else:
            total += Cost(1, int(tokenizer.count([prompt])[0]), ANSWER * plan.together)
    return total


def _planned(documents: Sequence[Document], number: int, seed: int, window: int) -> _Plan:
    if number < 1:
        raise InvalidParameterError("number", "must be at least 1", number, "Ask for more questions.")
    room = int((window - _INSTRUCTION - ANSWER) / _MARGIN)
    if room < TOKENS // 4:
        least = int(TOKENS // 4 * _MARGIN) + _INSTRUCTION + ANSWER
        rule = f"must have a context window of at least {least} tokens"
        raise InvalidParameterError("model", rule, window, "Take another model.")
    sections = spread(sections_of(documents, min(TOKENS, room)), seed)
    if not sections:
        raise InvalidParameterError("documents", "must hold text", len(documents), "Name other documents.")
    together = min(_TOGETHER, -(-number // len(sections)), max(1, (window - _INSTRUCTION) // (2 * ANSWER)))
    return _Plan(sections[: _PATIENCE * -(-number // together)], together)


def _checked(one: Written, section: Section, corpus: Corpus, filters: Filters) -> Question | str:
    """Return a question with its labels, or why it is dropped."""
    question, excerpts = " ".join(one.question.split()), [quoted(excerpt) for excerpt in one.excerpts]
    if reason := reason_of_form(question, excerpts):
        return reason
    places = [corpus.places(excerpt, section) for excerpt in excerpts]
    if not all(places):
        return "excerpt not in the section"
    labels = tuple(dict.fromkeys(Label(found) for found in places))
    if reason := filters.reason(question, excerpts):
        return reason
    digest = hashlib.blake2b(
        f"{section.source_id}\0{section.span}\0{question}".encode("utf-8", "replace"), digest_size=4
    )
    return Question(f"q_{digest.hexdigest()}", question, labels)
