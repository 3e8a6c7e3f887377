"""Compatibility with the names and files of the systems that kinsplit replaces."""

#: kinsplit's names for the strategies of the 10-K search service that were named differently.
SEARCH_SERVICE_STRATEGIES = {"fixed": "word"}
