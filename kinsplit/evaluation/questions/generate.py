"""Generation of labelled questions, section by section, with the number of dropped questions by reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from kinsplit.chunk import Document
from kinsplit.errors import InvalidParameterError, LanguageModelError
from kinsplit.evaluation.labels import Question
from kinsplit.evaluation.questions.filters import EXCERPTS, Filters
from kinsplit.evaluation.questions.sections import (
    ANSWER,
    MARGIN,
    TOKENS,
    Answer,
    Section,
    prompt_of,
    sections_of,
    spread,
)
from kinsplit.evaluation.questions.tally import Corpus, Tally
from kinsplit.language_models import resolve as resolve_model
from kinsplit.language_models.cache import answer_cache
from kinsplit.language_models.structured import StructuredClient
from kinsplit.parsers import Cost
from kinsplit.tokenizers import resolve

#: Default number of concurrent prompts.
CONCURRENCY = 4
#: Maximum number of questions per answer; more become repetitive.
_TOGETHER = 5
#: Maximum number of sections in prompts, as a multiple of the number needed.
_PATIENCE = 3
# Tokens of the instruction.
_INSTRUCTION = 300


@dataclass(frozen=True)
class Made:
    """The result of a generation.

    Attributes:
        questions: Questions with labels, whose places in the section of the prompt come first.
        sections: Number of sections in prompts.
        asked: Number of questions examined.
        dropped: Number of dropped questions, or of sections without a question, by reason.
    """

    questions: tuple[Question, ...]
    sections: int
    asked: int
    dropped: Mapping[str, int]


@dataclass(frozen=True)
class _Plan:
    """The sections of the prompts, in order, and the number of questions for each."""

    sections: list[Section]
    together: int

    def needed(self, questions: int) -> int:
        """Return the number of sections needed for a number of questions if none is dropped."""
        return -(-questions // self.together)

    def prompts(self, sections: Sequence[Section]) -> list[str]:
        return [prompt_of(section, self.together, EXCERPTS) for section in sections]


def make_questions(
    documents: Sequence[Document],
    model: object,
    number: int,
    filters: Filters,
    *,
    seed: int = 0,
    concurrency: int = CONCURRENCY,
    told: Callable[[], None] = lambda: None,
) -> Made:
    """Let a language model write labelled questions about documents.

    Args:
        documents: The documents.
        model: Language model: anything that `kinsplit.language_models.resolve` takes. Answers of a model with an
            identity are cached, so that an interrupted run continues where it stopped.
        number: Number of questions; the result has fewer if too many are dropped.
        filters: Filters of the questions.
        seed: Seed of the choice of sections.
        concurrency: Maximum number of concurrent prompts; it doesn't affect the result.
        told: Callback for each question that is kept.

    Raises:
        InvalidParameterError: The number or the concurrency isn't positive, there is no text, or the model's window is
            too small.
        LanguageModelError: The model is unavailable, or gave no valid answer three times in a row.
    """
    if concurrency < 1:
        raise InvalidParameterError("concurrency", "must be at least 1", concurrency, f"The default is {CONCURRENCY}.")
    client = StructuredClient(model, answer_cache())
    plan = _planned(documents, number, seed, client.model.window)
    tally = Tally(number, Corpus(documents), filters, told)
    left = plan.sections
    while left and tally.missing:
        # Only as many as needed if none is dropped, so that no answer is wasted.
        needed = plan.needed(tally.missing)
        wave, left = left[:needed], left[needed:]
        answers = client.ask_all(plan.prompts(wave), Answer, ANSWER * plan.together, concurrency)
        with closing(answers):
            for section, answer in zip(wave, answers, strict=False):
                if isinstance(answer, LanguageModelError) and client.has_given_up:
                    raise answer
                tally.take(section, answer)
                if not tally.missing:
                    break
    return Made(tuple(tally.questions), tally.sections, tally.asked, dict(tally.dropped))


def cost_of(documents: Sequence[Document], model: object, number: int, *, seed: int = 0) -> Cost:
    """Return the cost of writing questions if none is dropped, without asking the model.

    Args:
        documents: The documents.
        model: See `make_questions`.
        number: Number of questions.
        seed: Seed of the choice of sections.

    Raises:
        InvalidParameterError: See `make_questions`.
    """
    asked, cache = resolve_model(model), answer_cache()
    plan = _planned(documents, number, seed, asked.window)
    tokenizer = resolve("bundled")
    total = Cost()
    for prompt in plan.prompts(plan.sections[: plan.needed(number)]):
        if cache.get_text(asked, prompt) is not None:
            total += Cost(kept=1)
        else:
            total += Cost(1, int(tokenizer.count([prompt])[0]), ANSWER * plan.together)
    return total


def _planned(documents: Sequence[Document], number: int, seed: int, window: int) -> _Plan:
    if number < 1:
        raise InvalidParameterError("number", "must be at least 1", number, "Ask for more questions.")
    room = int((window - _INSTRUCTION - ANSWER) / MARGIN)
    if room < TOKENS // 4:
        least = int(TOKENS // 4 * MARGIN) + _INSTRUCTION + ANSWER
        rule = f"must have a context window of at least {least} tokens"
        raise InvalidParameterError("model", rule, window, "Take another model.")
    size = min(TOKENS, room)
    sections = spread(sections_of(documents, size), seed)
    if not sections:
        raise InvalidParameterError("documents", "must hold text", len(documents), "Name other documents.")
    held = (window - _INSTRUCTION - int(MARGIN * size)) // ANSWER
    together = min(_TOGETHER, -(-number // len(sections)), held)
    return _Plan(sections[: _PATIENCE * -(-number // together)], together)
