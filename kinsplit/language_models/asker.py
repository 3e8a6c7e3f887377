"""Questions to a language model whose answers are JSON objects of a given form."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kinsplit import language_models
from kinsplit.errors import LanguageModelError, ModelUnavailableError
from kinsplit.language_models.answers import read_objects
from kinsplit.language_models.cache import AnswerCache

# How often a question is asked if the answer can't be used.
_ATTEMPTS = 3
# After so many failures in a row the model isn't asked any more: each may have taken minutes.
_FAILURES = 3


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
        self._failures = 0
        self._given_up: LanguageModelError | None = None

    @property
    def given_up(self) -> bool:
        """Whether the model isn't asked any more."""
        return self._given_up is not None

    def ask(self, prompt: str, form: type[_Form], max_tokens: int) -> _Form:
        """Ask for an object.

        Args:
            prompt: The question, which must also say in words what the object looks like.
            form: What it looks like.
            max_tokens: Longest answer.

        Raises:
            LanguageModelError: The model gave none, or isn't asked any more.
        """
        known = self._known.get((form, prompt))
        if isinstance(known, form):
            return known
        found = self._kept(prompt, form) or self._asked(prompt, form, max_tokens)
        self._known[form, prompt] = found
        return found

    def _kept(self, prompt: str, form: type[_Form]) -> _Form | None:
        kept = self._cache and self._cache.get_text(self.model, prompt)
        return _read(kept, form)[0] if kept else None

    def _asked(self, prompt: str, form: type[_Form], max_tokens: int) -> _Form:
        if self._given_up is not None:
            raise self._given_up
        try:
            found = self._tried(prompt, form, max_tokens)
        except LanguageModelError as error:
            self._failures += 1
            if isinstance(error, ModelUnavailableError) or self._failures >= _FAILURES:
                self._given_up = error
            raise
        self._failures = 0
        if self._cache is not None:
            self._cache.put_text(self.model, prompt, found.model_dump_json())
        return found

    def _tried(self, prompt: str, form: type[_Form], max_tokens: int) -> _Form:
        schema, why = form.model_json_schema(), ""
        for _ in range(_ATTEMPTS):
            reminder = f"\nYour last answer can't be used: {why}. Answer with the JSON object alone." if why else ""
            found, why = _read(self.model.complete(prompt + reminder, schema, max_tokens), form)
            if found is not None:
                return found
        raise LanguageModelError(
            f"{self.model.name} gave {_ATTEMPTS} answers that can't be used; of the last one, {why}."
        )


def _read(answer: str, form: type[_Form]) -> tuple[_Form | None, str]:
    """Return the object that an answer holds, or None and what is wrong."""
    why = "no JSON object was found"
    for value in read_objects(answer):
        try:
            return form.model_validate(value), ""
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            why = f"{'.'.join(map(str, first['loc']))}: {first['msg'][0].lower()}{first['msg'][1:]}"
    return None, why
