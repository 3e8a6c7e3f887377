"""Questions about segments -> where chunks begin, asked of a language model by several threads."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

from kinsplit.errors import KinsplitWarning, LanguageModelError
from kinsplit.language_models import LanguageModel
from kinsplit.language_models.concurrency import ATTEMPTS, CircuitBreaker, as_completed
from kinsplit.language_models.http.errors import wrap_errors
from kinsplit.language_models.parsing import numbers_schema, read_numbers
from kinsplit.parsers.llm_boundaries.prompts import KEY, Question, answer_tokens, reminder

if TYPE_CHECKING:
    from kinsplit.language_models.cache import AnswerCache

_SCHEMA = numbers_schema(KEY)


class FallbackWarning(KinsplitWarning):
    """Some boundaries were drawn by paragraphs and headings, since the language model gave none.

    Args:
        reason: Why, as a sentence.
        segments: How many segments it was.
        total: Out of how many.
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
        """Return one warning for each reason."""
        by_reason: dict[str, list[Self]] = {}
        for one in found:
            by_reason.setdefault(one.reason, []).append(one)
        return [
            cls(reason, sum(one.segments for one in same), sum(one.total for one in same))
            for reason, same in by_reason.items()
        ]


class Answer(NamedTuple):
    """What came of a question.

    Attributes:
        starts: Ascending numbers of the sentences that begin a chunk, counted within the segment.
        known: How many sentences, from the first on, it says something about.
        problem: Why that is not all of them.
    """

    starts: list[int]
    known: int
    problem: str | None = None


def ask(model: LanguageModel, questions: Sequence[Question], cache: AnswerCache, concurrency: int) -> list[Answer]:
    """Ask a language model.

    Args:
        model: The model.
        questions: The questions; of equal ones only one is asked.
        cache: Where earlier answers are, and where new ones go.
        concurrency: Most questions that are asked at the same time.

    Returns:
        An answer to each question.
    """
    asked = {question.digest(): question for question in questions}
    answers: dict[bytes, Answer] = {}
    for digest, question in asked.items():
        if kept := cache.get(model, question.prompt()):
            answers[digest] = Answer(kept, question.sentences)
    open_ = [digest for digest in asked if digest not in answers]
    run = _Run(model)
    for digest, answer in as_completed(lambda digest: run.answer(asked[digest]), open_, concurrency):
        answers[digest] = answer
        if answer.problem is None:
            cache.put(model, asked[digest].prompt(), answer.starts)
    return [answers[question.digest()] for question in questions]


def report(answers: Sequence[Answer], *, as_error: bool) -> None:
    """Tell of the segments about which the model said nothing, all at once.

    Args:
        answers: The answers.
        as_error: Whether that is an error and not a warning.

    Raises:
        LanguageModelError: It is.
    """
    problems = [answer.problem for answer in answers if answer.problem is not None]
    if not problems:
        return
    ((reason, _),) = Counter(problems).most_common(1)
    if as_error:
        raise LanguageModelError(reason)
    warnings.warn(FallbackWarning(reason, len(problems), len(answers)), stacklevel=2)


class _Run:
    """One run over many questions, given up once the model is found to be away."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._breaker = CircuitBreaker()

    def answer(self, question: Question) -> Answer:
        if self._breaker.failure is not None:
            return Answer([], 0, str(self._breaker.failure))
        try:
            with wrap_errors(self._model.name):
                answer = self._asked(question.prompt(), question.sentences)
        except LanguageModelError as error:
            self._breaker.record(error)
            return Answer([], 0, str(error))
        self._breaker.record(None)
        return answer

    def _asked(self, prompt: str, sentences: int) -> Answer:
        """Ask until an answer can be used; of those that can't, return the one that says most."""
        best, why = Answer([], 0), ""
        for _ in range(ATTEMPTS):
            asked = prompt + reminder(why) if why else prompt
            numbers = read_numbers(self._model.complete(asked, _SCHEMA, answer_tokens(sentences)), KEY)
            starts = sorted({number for number in numbers.values if 0 <= number < sentences})
            if starts and numbers.whole:
                return Answer(starts, sentences)
            why = _why(numbers.values, starts, sentences)
            if starts and starts[-1] >= best.known:
                best = Answer(starts, starts[-1] + 1)
        problem = f"{self._model.name} gave {ATTEMPTS} answers that can't be used; of the last one, {why}."
        return best._replace(problem=problem)


def _why(values: list[int], starts: list[int], sentences: int) -> str:
    if starts:
        return "the list of numbers has no end"
    return f"no number is between 0 and {sentences - 1}" if values else "no list of numbers was found"
