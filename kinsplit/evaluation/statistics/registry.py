"""The one list of statistics."""

from __future__ import annotations

from kinsplit.evaluation.statistics.chunks import Chunks
from kinsplit.evaluation.statistics.coverage import Coverage
from kinsplit.evaluation.statistics.documents import Documents
from kinsplit.evaluation.statistics.duplication import Duplication
from kinsplit.evaluation.statistics.embed_seconds import EmbedSeconds
from kinsplit.evaluation.statistics.embedded import TokensEmbedded
from kinsplit.evaluation.statistics.mid_sentence import MidSentence
from kinsplit.evaluation.statistics.mid_word import MidWord
from kinsplit.evaluation.statistics.protocol import Made, Statistic
from kinsplit.evaluation.statistics.sizes import SIZES
from kinsplit.evaluation.statistics.split_seconds import SplitSeconds
from kinsplit.evaluation.statistics.stored import BytesStored

STATISTICS: tuple[Statistic, ...] = (
    Chunks(),
    Documents(),
    *SIZES,
    MidWord(),
    MidSentence(),
    Coverage(),
    Duplication(),
    TokensEmbedded(),
    BytesStored(),
    SplitSeconds(),
    EmbedSeconds(),
)

#: Those that another run doesn't repeat.
TIMES = frozenset({SplitSeconds.name, EmbedSeconds.name})


def describe(made: Made) -> dict[str, float]:
    """Return all statistics of a chunking by name, without those that have no value."""
    found = ((statistic.name, statistic.value(made)) for statistic in STATISTICS)
    return {name: value for name, value in found if value is not None}
