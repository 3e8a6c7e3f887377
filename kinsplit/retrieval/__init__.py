"""Query -> passages: candidates, sibling expansion, and a token budget."""

from kinsplit.retrieval.budget import within_budget
from kinsplit.retrieval.candidates import Candidate, find_candidates, fuse
from kinsplit.retrieval.expand import expand
from kinsplit.retrieval.passage import Passage

__all__ = ["Candidate", "Passage", "expand", "find_candidates", "fuse", "within_budget"]
