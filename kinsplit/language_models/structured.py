"""JSON objects of a given form as answers of a language model."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kinsplit import language_models
from kinsplit.errors import LanguageModelError
from kinsplit.language_models.parsing import read_objects
from kinsplit.language_models.protocol import LanguageModel, wrap_errors
from kinsplit.language_models.streaming import ATTEMPTS, CircuitBreaker, as_completed
from kinsplit.support.disk_cache import JsonCache
from kinsplit.support.environment import cache_folder
from kinsplit.support.settings import first_fault

#: Maximum size in bytes; the least recently used answers are dropped first.
LIMIT = 256 << 20


class AnswerCache:
    """Answers by model and prompt; several threads and processes may share a folder.

    If the folder can't be read or written, the cache warns once and stores nothing from then on.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cache = JsonCache(folder, LIMIT, "Answers of language models")

    def get(self, model: LanguageModel, prompt: str) -> object:
        """Return the cached answer to a prompt, a JSON value, or None."""
        return None if model.identity is None else self._cache.get(_key(model.identity, prompt))

    def put(self, model: LanguageModel, prompt: str, answer: str | list[int]) -> None:
        """Store the answer to a prompt, unless the model has no identity."""
        if model.identity is not None:
            self._cache.put(_key(model.identity, prompt), answer)


def answer_cache() -> AnswerCache:
    """Return the user's cache: `answers` in the folder KINSPLIT_CACHE, else in kinsplit's own."""
    return _opened(cache_folder() / "answers")


_opened = functools.lru_cache(maxsize=4)(AnswerCache)


def _key(identity: str, prompt: str) -> bytes:
    return hashlib.blake2b(f"{identity}\0{prompt}".encode("utf-8", "surrogatepass"), digest_size=20).digest()


class Form(BaseModel):
    """Base of the requested objects: the model must give every field, and additional ones are ignored."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, json_schema_extra={"additionalProperties": False})


_Form = TypeVar("_Form", bound=Form)


class StructuredClient:
    """Requests JSON objects from a language model, or from one with a name, and sends each prompt only once.

    An unusable answer is requested again together with its fault. A model that is unavailable, or fails three times in
    a row, is no longer called. Answers of models that have an identity are cached between runs if a cache is given.

    Raises:
        InvalidParameterError: `model` is not a language model.
    """

    def __init__(self, model: object, cache: AnswerCache | None = None) -> None:
        self.model = language_models.resolve(model)
        self._cache = cache
        # By form and hash of the prompt, which may be long.
        self._known: dict[tuple[type[Form], bytes], Form] = {}
        self._breaker = CircuitBreaker()

    @property
    def has_given_up(self) -> bool:
        """Whether the model is no longer called."""
        return self._breaker.failure is not None

    def ask(self, prompt: str, form: type[_Form], max_tokens: int) -> _Form:
        """Request an object of a class, which the prompt must also describe in words.

        Raises:
            LanguageModelError: The model gave no such object, or is no longer called.
        """
        (found,) = self.ask_all([prompt], form, max_tokens, 1)
        if isinstance(found, LanguageModelError):
            # One error may be raised for many prompts; its traceback would grow each time.
            raise found.with_traceback(None)
        return found

    def ask_all(
        self, prompts: Sequence[str], form: type[_Form], max_tokens: int, concurrency: int
    ) -> Generator[_Form | LanguageModelError, None, None]:
        """Request several objects concurrently, and yield each, or an error instead, in the order of the prompts.

        Closing the generator stops further requests.
        """
        outcomes: dict[str, _Form | LanguageModelError] = {
            prompt: known for prompt in prompts if (known := self.recall(prompt, form)) is not None
        }
        open_ = [prompt for prompt in dict.fromkeys(prompts) if prompt not in outcomes]
        uncounted = set(open_)
        run = as_completed(lambda prompt: self._outcome(prompt, form, max_tokens), open_, concurrency)
        with closing(run) as answers:
            for prompt in prompts:
                while prompt not in outcomes:
                    answered, outcome = next(answers)
                    outcomes[answered] = outcome
                    self._remember(answered, outcome)
                outcome = outcomes[prompt]
                if prompt in uncounted:
                    # In the order of the prompts, so that the order in which answers come makes no difference.
                    uncounted.remove(prompt)
                    self._breaker.record(outcome if isinstance(outcome, LanguageModelError) else None)
                yield outcome

    def recall(self, prompt: str, form: type[_Form]) -> _Form | None:
        """Return the object that the model has given for a prompt, in this run or an earlier one, or None."""
        key = form, _key("", prompt)
        known = self._known.get(key)
        if isinstance(known, form):
            return known
        kept = self._cache.get(self.model, prompt) if self._cache else None
        found = _read(kept, form)[0] if isinstance(kept, str) else None
        if found is not None:
            self._known[key] = found
        return found

    def _remember(self, prompt: str, outcome: Form | LanguageModelError) -> None:
        if isinstance(outcome, Form):
            self._known[type(outcome), _key("", prompt)] = outcome
            if self._cache is not None:
                self._cache.put(self.model, prompt, outcome.model_dump_json())

    def _outcome(self, prompt: str, form: type[_Form], max_tokens: int) -> _Form | LanguageModelError:
        """Call the model until an answer can be used, and return the object or an error."""
        if self._breaker.failure is not None:
            return self._breaker.failure
        schema, reminder, why = form.model_json_schema(), "", ""
        try:
            with wrap_errors(self.model.name):
                for _ in range(ATTEMPTS):
                    found, why = _read(self.model.complete(prompt + reminder, schema, max_tokens), form)
                    if found is not None:
                        return found
                    reminder = f"\nYour last answer can't be used: {why}. Answer with the JSON object alone."
        except LanguageModelError as error:
            return error
        rule = f"{self.model.name} gave {ATTEMPTS} answers that can't be used"
        return LanguageModelError(f"{rule}; of the last one, {why}.")


def _read(answer: str, form: type[_Form]) -> tuple[_Form | None, str]:
    """Return the object in an answer and "", or None and the fault."""
    why = "no JSON object was found"
    for value in read_objects(answer):
        try:
            return form.model_validate(value), ""
        except ValidationError as error:
            fault = first_fault(error.errors())
            why = f"{fault.field}: {fault.message[0].lower()}{fault.message[1:]}"
    return None, why
