"""Parameters of the frameworks' own splitters: what stands for each of them here."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kinsplit.errors import InvalidParameterError, require
from kinsplit.parsers import Strategy
from kinsplit.tokenizers import describe

_Converted = Mapping[str, Any] | None
_Convert = Callable[[type[Strategy], Any], _Converted]


class StockParameter(NamedTuple):
    """A parameter of a framework's own splitter that is no parameter of a strategy."""

    here: str  # What to write instead, and why.
    convert: _Convert = lambda _strategy, _value: None  # Returns the strategy's own parameters; None for an error.


class LengthFunction:
    """A function that returns the length of a text, as a tokenizer: its tokens have numbers for names.

    Args:
        function: The function.

    Raises:
        InvalidParameterError: It is no function, or returns no whole number above 0.
    """

    def __init__(self, function: Callable[[str], int]) -> None:
        self.name, self._function = describe(function), function
        try:
            is_length = operator.index(function("one two")) > 0
        except TypeError:
            is_length = False
        rule = "must be a function that returns the length of a text"
        require(is_length, "length_function", rule, function, "Give len, or count tokens.")

    def __call__(self, text: str) -> range:
        """Return as many tokens as the text is long."""
        return range(self._function(text))


def counting_tokens(strategy: type[Strategy], tokenizer: object) -> dict[str, Any] | None:
    """Return the parameters with which a strategy counts a tokenizer's tokens; None if it counts something else."""
    if "unit" in strategy.model_fields:
        return {"unit": "token", "tokenizer": tokenizer}
    return {"tokenizer": tokenizer} if strategy.counted == "token" else None


def _length(strategy: type[Strategy], value: Any) -> _Converted:
    if value is not len:
        return counting_tokens(strategy, LengthFunction(value))
    if "unit" in strategy.model_fields:
        return {"unit": "character"}
    return {} if strategy.counted == "character" else None


def _encoding(strategy: type[Strategy], value: Any) -> _Converted:
    return counting_tokens(strategy, f"tiktoken:{value}")


def _stripped(strategy: type[Strategy], value: Any) -> _Converted:
    # Pieces of an exact number of characters keep the white space at their ends.
    return {} if value is (strategy.counted != "character") else None


def _only(*values: object) -> _Convert:
    """Return the conversion of a parameter whose value may only be what kinsplit does anyway."""
    return lambda _strategy, value: {} if any(value is each or value == each for each in values) else None


def _named(own: str, **others: object) -> _Convert:
    """Return the conversion of a parameter that has another name here, if the strategy has it, with further ones."""

    def convert(strategy: type[Strategy], value: Any) -> _Converted:
        if own not in strategy.model_fields:
            return None
        # In the frameworks, None stands for the default.
        return {} if value is None else {own: value, **others}

    return convert


_BOUNDARIES = (
    'Leave it out, and choose a strategy, such as "sentence" or "structure": paragraphs, sentences, items, tables and '
    "code are found in any text."
)
_EMBEDDER = 'The same as `embedder` in "semantic" and "cluster": a model of either framework, or the name of one.'
_CHARACTERS = (
    '`len` counts characters: `unit="character"`, in a strategy with `unit` or in "character". Another function counts '
    'tokens: `unit="token"` and `tokenizer`, in a strategy with `unit` or in "token".'
)
_LLM = 'The same as `model` in "llm".'

# What to use instead of parameters that have no meaning here, whatever their value.
_REFUSED = {
    _BOUNDARIES: (
        "separator separators backup_separators paragraph_separator secondary_chunking_regex chunking_tokenizer_fn "
        "sentence_splitter merging_separator pipeline use_span_tokenize"
    ),
    "Headings of Markdown and HTML are found by themselves: each chunk has the titles above it under `context`.": (
        "headers_to_split_on strip_headers custom_header_patterns header_path_separator return_each_line"
    ),
    "Leave it out: `kinsplit.loaders.load` turns HTML into Markdown with headings, lists, tables and links.": (
        "return_each_element elements_to_preserve preserve_links preserve_images preserve_videos preserve_audio tags "
        "custom_handlers stopword_removal stopword_lang normalize_text external_metadata allowlist_tags denylist_tags "
        "preserve_parent_metadata"
    ),
    'Split by "sentence" with `max_sentences=1`, and add neighbours by `SiblingExpansion(store, window=...)`.': (
        "window_size window_metadata_key original_text_metadata_key"
    ),
    'Use "semantic" or "cluster" with `threshold_kind`, `threshold` and `window`.': (
        "buffer_size breakpoint_threshold_type breakpoint_threshold_amount number_of_chunks language_config "
        "initial_threshold appending_threshold merging_threshold merging_range"
    ),
    'Use `tokenizer`, such as "hf:REPOSITORY" or "tiktoken:ENCODING".': "model_name model_kwargs max_length",
    "Use `chunk_size`, in the strategy's `unit`.": "max_chunk_size min_chunk_size tokens_per_chunk max_tokens",
    'Use "structure" with `chunk_size`: the language of code is recognised, and cuts lie between statements.': (
        "chunk_lines chunk_lines_overlap max_chars count_mode parser"
    ),
    "Leave it out: special tokens are counted as ordinary text.": "allowed_special disallowed_special",
    "Leave it out: tables stay in the text, and no model summarises them.": (
        "summary_query_str num_workers show_progress nested_node_parser partitioning_parameters"
    ),
    'Use "hierarchical" with `chunk_sizes`, or chain parsers.': "node_parser_ids node_parser_map",
}

#: Parameters of the splitters of both frameworks, by name.
STOCK: Mapping[str, StockParameter] = {
    "length_function": StockParameter(_CHARACTERS, _length),
    "chunk_overlap": StockParameter(
        'The same in strategies that have it, such as "sentence"; 0 elsewhere: `SiblingExpansion` adds neighbours.',
        _only(0),
    ),
    "strip_whitespace": StockParameter(
        'True, but for "character", whose pieces keep all characters. Chunks are exact slices of the text.', _stripped
    ),
    "keep_whitespaces": StockParameter("False. Chunks are exact slices of the text.", _only(False)),
    "keep_separator": StockParameter(
        'True or "end": nothing between chunks but white space is lost.', _only(True, "end")
    ),
    "is_separator_regex": StockParameter(f"False. {_BOUNDARIES}", _only(False)),
    "encoding_name": StockParameter('The same as `tokenizer="tiktoken:ENCODING"` where tokens are counted.', _encoding),
    "embed_model": StockParameter(_EMBEDDER, _named("embedder")),
    "embeddings": StockParameter(_EMBEDDER, _named("embedder")),
    "llm": StockParameter(_LLM, _named("model")),
    "breakpoint_percentile_threshold": StockParameter(
        'The same as `threshold_kind="percentile"` and `threshold` in "semantic".',
        _named("threshold", threshold_kind="percentile"),
    ),
    **{name: StockParameter(here) for here, names in _REFUSED.items() for name in names.split()},
}


def in_own_terms(strategy: type[Strategy], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with those of the frameworks' own splitters converted to the strategy's.

    Raises:
        InvalidParameterError: One has no meaning here; the error tells what to use instead. Or it contradicts another.
    """
    found = dict[str, Any]()
    for name, value in parameters.items():
        stock = None if name in strategy.model_fields else STOCK.get(name)
        own = {name: value} if stock is None else stock.convert(strategy, value)
        if stock is not None and own is None:
            raise InvalidParameterError(name, f'has no such meaning in "{strategy.name}"', value, stock.here)
        for each in own if stock is not None and own else ():
            if each in parameters:
                raise InvalidParameterError(name, f"can't be given together with {each}", value, "Leave one out.")
        found |= own or {}
    return found


def check_has_strategy(kind: type[object], maker: str) -> None:
    """Raise TypeError for the base class of the splitters of a framework, which has no strategy."""
    if not hasattr(kind, "strategy_class"):
        raise TypeError(f'{kind.__name__} is the base class of all strategies. Call {maker}("sentence"), for example.')
