"""Answers of a language model to questions about segments."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

from kinsplit.errors import KinsplitWarning, LanguageModelError
from kinsplit.language_models import LanguageModel
from kinsplit.language_models.parsing import numbers_schema, read_numbers
from kinsplit.language_models.protocol import wrap_errors
from kinsplit.language_models.streaming import ATTEMPTS, CircuitBreaker, as_completed
from kinsplit.parsers.llm_boundaries.prompts import KEY, Question, answer_tokens, reminder

if TYPE_CHECKING:
    from kinsplit.language_models.structured import AnswerCache

_SCHEMA = numbers_schema(KEY)


class FallbackWarning(KinsplitWarning):
    """Boundaries were drawn by paragraphs and headings because the language model gave no usable answer.

    Args:
        reason: Reason, as a sentence.
        segments: Number of affected segments.
        total: Total number of segments.
    """

    def __init__(self, reason: str, segments: int, total: int) -> None:
        super().__init__(reason, segments, total)
        self.reason, self.segments, self.total = reason, segments, total

    def __str__(self) -> str:
        number = "the only segment" if self.total == 1 else f"{self.segments} of {self.total} segments"
        verb = "was" if self.segments == 1 else "were"
        return f"llm: {number} {verb} divided by paragraphs and headings instead. {self.reason}"

    @classmethod
    def combined(cls, found: Sequence[Self]) -> list[Self]:
        """Return one warning per reason."""
        by_reason: dict[str, list[Self]] = {}
        for one in found:
            by_reason.setdefault(one.reason, []).append(one)
        return [
            cls(reason, sum(one.segments for one in same), sum(one.total for one in same))
            for reason, same in by_reason.items()
        ]


class Answer(NamedTuple):
    """An answer to a question.

    Attributes:
        starts: Ascending numbers of the sentences that begin a chunk, counted within the segment.
        known: Number of leading sentences that the answer covers.
        problem: Reason why it doesn't cover all sentences, else None.
    """

    starts: list[int]
    known: int
    problem: str | None = None


def ask(model: LanguageModel, questions: Sequence[Question], cache: AnswerCache, concurrency: int) -> list[Answer]:
    """Ask a language model questions.

    Args:
        model: The model.
        questions: The questions; identical ones are asked once.
        cache: Cache of answers.
        concurrency: Maximum number of concurrent requests.

    Returns:
        An answer to each question.
    """
    by_digest = {question.digest(): question for question in questions}
    answers: dict[bytes, Answer] = {}
    for digest, question in by_digest.items():
        if kept := cache.get(model, question.prompt()):
            answers[digest] = Answer(kept, question.sentences)
    pending = [digest for digest in by_digest if digest not in answers]
    run = _Run(model)
    for digest, answer in as_completed(lambda digest: run.answer(by_digest[digest]), pending, concurrency):
        answers[digest] = answer
        if answer.problem is None:
            cache.put(model, by_digest[digest].prompt(), answer.starts)
    return [answers[question.digest()] for question in questions]


def report(answers: Sequence[Answer], *, as_error: bool) -> None:
    """Report all segments without a complete answer in one warning or error.

    Args:
        answers: The answers.
        as_error: Whether to raise an error instead of a warning.

    Raises:
        LanguageModelError: A segment has no complete answer, and `as_error` is set.
    """
    problems = [answer.problem for answer in answers if answer.problem is not None]
    if not problems:
        return
    ((reason, _),) = Counter(problems).most_common(1)
    if as_error:
        raise LanguageModelError(reason)
    warnings.warn(FallbackWarning(reason, len(problems), len(answers)), stacklevel=2)


class _Run:
    """One run over many questions, which stops asking once the model is unavailable."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._breaker = CircuitBreaker()

    def answer(self, question: Question) -> Answer:
        if self._breaker.failure is not None:
            return Answer([], 0, str(self._breaker.failure))
        try:
            with wrap_errors(self._model.name):
                answer = self._ask(question.prompt(), question.sentences)
        except LanguageModelError as error:
            self._breaker.record(error)
            return Answer([], 0, str(error))
        self._breaker.record(None)
        return answer

    def _ask(self, prompt: str, sentences: int) -> Answer:
        """Ask until an answer is usable; otherwise return the one that covers most."""
        best, why = Answer([], 0), ""
        for _ in range(ATTEMPTS):
            text = prompt + reminder(why) if why else prompt
            numbers = read_numbers(self._model.complete(text, _SCHEMA, answer_tokens(sentences)), KEY)
            starts = sorted({number for number in numbers.values if 0 <= number < sentences})
            if starts and numbers.whole:
                return Answer(starts, sentences)
            why = _defect(numbers.values, starts, sentences)
            if starts and starts[-1] >= best.known:
                best = Answer(starts, starts[-1] + 1)
        problem = f"{self._model.name} gave {ATTEMPTS} answers that can't be used; in the last one, {why}."
        return best._replace(problem=problem)


def _defect(values: list[int], starts: list[int], sentences: int) -> str:
    if starts:
        return "the list of numbers has no end"
    return f"no number is between 0 and {sentences - 1}" if values else "no list of numbers was found"
