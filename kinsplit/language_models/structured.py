"""Questions to a language model whose answers are JSON objects of a given form."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kinsplit import language_models
from kinsplit.errors import LanguageModelError
from kinsplit.language_models.cache import AnswerCache
from kinsplit.language_models.concurrency import ATTEMPTS, Patience, as_done
from kinsplit.language_models.http.errors import told_as_ours
from kinsplit.language_models.parsing import read_objects
from kinsplit.support.validation import first_fault


class Form(BaseModel):
    """Base of what can be asked for: every field is required of the model, and what it adds is passed over."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, json_schema_extra={"additionalProperties": False})


_Form = TypeVar("_Form", bound=Form)


class Asker:
    """Asks a language model, and one question only once.

    An answer that can't be used is asked for again, with what was wrong; a model that is away, or fails three times in
    a row, isn't asked any more.

    Args:
        model: What `kinsplit.language_models.resolve` takes.
        cache: Where answers are kept between runs, those of models that have an identity; None keeps them in memory.

    Raises:
        InvalidParameterError: No language model.
    """

    def __init__(self, model: object, cache: AnswerCache | None = None) -> None:
        self.model = language_models.resolve(model)
        self._cache = cache
        self._known: dict[tuple[type[Form], str], Form] = {}
        self._patience = Patience()

    @property
    def given_up(self) -> bool:
        """Whether the model isn't asked any more."""
        return self._patience.given_up is not None

    def ask(self, prompt: str, form: type[_Form], max_tokens: int) -> _Form:
        """Ask for an object.

        Args:
            prompt: The question, which must also say in words what the object looks like.
            form: What it looks like.
            max_tokens: Longest answer.

        Raises:
            LanguageModelError: The model gave none, or isn't asked any more.
        """
        (found,) = self.ask_all([prompt], form, max_tokens, 1)
        if isinstance(found, LanguageModelError):
            # One failure may be raised for many prompts, and would remember where each time.
            raise found.with_traceback(None)
        return found

    def ask_all(
        self, prompts: Sequence[str], form: type[_Form], max_tokens: int, concurrency: int
    ) -> Generator[_Form | LanguageModelError, None, None]:
        """Ask for several objects, some at the same time. Closing the generator asks for no more.

        Args:
            prompts: See `ask`.
            form: What the objects look like.
            max_tokens: Longest answer to each.
            concurrency: Most prompts that are asked at the same time.

        Yields:
            For each prompt, in their order, the object, or why there is none.
        """
        outcomes: dict[str, _Form | LanguageModelError] = {
            prompt: known for prompt in prompts if (known := self._recalled(prompt, form)) is not None
        }
        open_ = [prompt for prompt in dict.fromkeys(prompts) if prompt not in outcomes]
        uncounted = set(open_)
        with closing(as_done(lambda prompt: self._outcome(prompt, form, max_tokens), open_, concurrency)) as answers:
            for prompt in prompts:
                while prompt not in outcomes:
                    asked, outcome = next(answers)
                    outcomes[asked] = outcome
                    self._remember(asked, outcome)
                outcome = outcomes[prompt]
                if prompt in uncounted:
                    # In the order of the prompts, so that it doesn't matter which answer is the first to come.
                    uncounted.remove(prompt)
                    self._patience.count(outcome if isinstance(outcome, LanguageModelError) else None)
                yield outcome

    def _recalled(self, prompt: str, form: type[_Form]) -> _Form | None:
        """Return what was answered before, in this run or an earlier one."""
        known = self._known.get((form, prompt))
        if isinstance(known, form):
            return known
        kept = self._cache and self._cache.get_text(self.model, prompt)
        found = _read(kept, form)[0] if kept else None
        if found is not None:
            self._known[form, prompt] = found
        return found

    def _remember(self, prompt: str, outcome: Form | LanguageModelError) -> None:
        if isinstance(outcome, Form):
            self._known[type(outcome), prompt] = outcome
            if self._cache is not None:
                self._cache.put_text(self.model, prompt, outcome.model_dump_json())

    def _outcome(self, prompt: str, form: type[_Form], max_tokens: int) -> _Form | LanguageModelError:
        """Ask until an answer can be used, and return the object or why there is none."""
        if self._patience.given_up is not None:
            return self._patience.given_up
        schema, why = form.model_json_schema(), ""
        try:
            with told_as_ours(self.model.name):
                for _ in range(ATTEMPTS):
                    found, why = _read(self.model.complete(prompt + _reminder(why), schema, max_tokens), form)
                    if found is not None:
                        return found
        except LanguageModelError as error:
            return error
        return LanguageModelError(
            f"{self.model.name} gave {ATTEMPTS} answers that can't be used; of the last one, {why}."
        )


def _reminder(why: str) -> str:
    return f"\nYour last answer can't be used: {why}. Answer with the JSON object alone." if why else ""


def _read(answer: str, form: type[_Form]) -> tuple[_Form | None, str]:
    """Return the object that an answer holds, or None and what is wrong."""
    why = "no JSON object was found"
    for value in read_objects(answer):
        try:
            return form.model_validate(value), ""
        except ValidationError as error:
            fault = first_fault(error.errors())
            why = f"{fault.field}: {fault.message[0].lower()}{fault.message[1:]}"
    return None, why
