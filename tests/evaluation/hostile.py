"""Results with an injection attempt in every text."""

from __future__ import annotations

from kinsplit.evaluation.results import Results
from tests.evaluation.made_results import results

ATTACKS = (
    "<script>window.hacked = 1</script>",
    "</style><style>body { display: none }</style></script><script>window.hacked = 1</script>",
    '" onmouseover="window.hacked = 1" x="',
    "--><img src=https://example.org/x.png onerror=window.hacked=1>{{ 7 * 7 }}{% for %}",
    "\u202eevil\u2066\x00\x1b[31m\x08\x7f\x85 $a_b$ \\$",
    "لا إله\u0301 東京 🐇👩‍👩‍👧 ก็ " + "a" * 3000,
)


def hostile() -> Results:
    """Return results with an attack in each label, document id, question, passage, measure, and warning."""
    made = results(strategies=len(ATTACKS), documents=len(ATTACKS), questions=len(ATTACKS))
    text = made.model_dump_json()
    for place, attack in enumerate(ATTACKS):
        written = _escaped(attack)
        for told in (
            made.strategies[place].label,
            made.questions[place].text,
            f"course/lecture_{place + 1:02}.md",
            ("nDCG@10", "MRR", "precision", "jaccard", "cosine", "mid_word")[place],
        ):
            text = text.replace(f'"{told}"', f'"{written}"')
        text = text.replace("loop that", written, 1).replace("in order", written, 1)
    changed = Results.model_validate_json(text)
    # Adapt spans to the changed lengths of texts, so that marks fall inside the attacks.
    hits = [
        result.model_copy(
            update={
                "hits": [
                    hit.model_copy(update={"spans": [(hit.spans[0][0], hit.spans[0][0] + len(hit.text))]})
                    for hit in result.hits
                ]
            }
        )
        for result in changed.results
    ]
    setting = changed.setting.model_copy(
        update={"dataset": ATTACKS[1], "embedder": ATTACKS[3], "versions": {ATTACKS[0]: ATTACKS[2]}}
    )
    return changed.model_copy(update={"results": hits, "setting": setting, "warnings": list(ATTACKS)})


def _escaped(text: str) -> str:
    import json

    return json.dumps(text)[1:-1]
