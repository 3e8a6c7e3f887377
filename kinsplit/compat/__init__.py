"""Names and files of the systems that kinsplit replaces."""

#: kinsplit's name for each strategy of the 10-K search service that had another name there.
SEARCH_SERVICE_STRATEGIES = {"fixed": "word"}
