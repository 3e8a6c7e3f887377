"""Every error says what is wrong and what to do about it, in one sentence or two."""

from __future__ import annotations

import inspect
import pickle

import pytest

from kinsplit import errors
from kinsplit.errors import InvalidParameterError, KinsplitError, KinsplitWarning, LoadError, MissingExtraError

TREE = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", TREE)
def test_every_error_and_warning_is_kinsplits_own_and_documented(kind: type[Exception]) -> None:
    assert issubclass(kind, KinsplitError | KinsplitWarning)
    assert kind.__doc__
    assert kind.__name__ in (errors.__doc__ or "")


def test_an_invalid_parameter_names_field_rule_value_and_remedy() -> None:
    error = InvalidParameterError("chunk_size", "must be positive", -5, "Raise it.")
    assert str(error) == "chunk_size: must be positive (got -5). Raise it."
    assert isinstance(error, ValueError)
    assert (error.field, error.rule, error.value, error.remedy) == ("chunk_size", "must be positive", -5, "Raise it.")


def test_a_long_value_is_shortened() -> None:
    message = str(InvalidParameterError("x", "must be short", "y" * 1000, "Shorten it."))
    assert len(message) < 150
    assert message.endswith("...). Shorten it.")


def test_a_missing_extra_says_what_to_install() -> None:
    error = MissingExtraError("langchain-core", "langchain")
    assert str(error) == 'langchain-core is not installed. Run: pip install "kinsplit[langchain]"'
    assert isinstance(error, ImportError)


def test_a_load_error_names_the_file() -> None:
    assert str(LoadError("a/b.pdf", "is encrypted")) == "a/b.pdf: is encrypted"


@pytest.mark.parametrize(
    "error",
    [
        InvalidParameterError("chunk_size", "must be positive", -5, "Raise it."),
        MissingExtraError("langchain-core", "langchain"),
        LoadError("a/b.pdf", "is encrypted"),
        errors.TokenizerError("not there"),
        errors.StoreLockedError("locked"),
    ],
)
def test_errors_survive_pickling(error: KinsplitError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
