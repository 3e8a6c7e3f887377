"""The page as a student uses it to compare strategies."""

from __future__ import annotations

from tests.server.page.conftest import Serve, Visit, ask_for, expect

TEXT = "# Ärger 😀\n\nEin Satz. Noch ein 🐍 Satz.\n\n<script>window.hacked = 1</script>\n\nDer letzte Satz steht hier."


def test_two_strategies_answer_side_by_side(visit: Visit) -> None:
    page = visit("#/compare")
    expect(page.get_by_text("Type a question")).to_be_visible()
    ask_for(page, "while loop condition")
    left = page.get_by_role("region", name="Passages by sentence")
    right = page.get_by_role("region", name="Passages by structure")
    for side in (left, right):
        expect(side.locator(".passage").first.locator("mark.best").last).to_contain_text("A while loop 🐍 asks first")
    expect(left.locator(".note").first).to_have_text("Rank 1 there")
    boxes = [side.bounding_box() for side in (left, right)]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    page.get_by_label("Right").select_option("hierarchical")
    expect(page.get_by_role("region", name="Passages by hierarchical").locator(".passage").first).to_be_visible()
    assert "b=hierarchical" in page.url
    page.set_viewport_size({"width": 375, "height": 760})
    boxes = [side.bounding_box() for side in (left, page.get_by_role("region", name="Passages by hierarchical"))]
    assert boxes[0]["x"] == boxes[1]["x"]


def test_one_strategy_alone_can_not_be_compared(visit: Visit, serve: Serve) -> None:
    page = visit("#/compare?q=rabbits", address=serve(collections="sentence"))
    expect(page.get_by_text("There is only one strategy")).to_be_visible()


def test_a_pasted_text_is_cut_as_it_is_typed(visit: Visit) -> None:
    page = visit("#/cut?strategy=sentence&p.chunk_size=8&p.chunk_overlap=0")
    expect(page.get_by_text("Paste a text, or type one")).to_be_visible()
    page.get_by_label("Text").fill(TEXT)
    text = page.locator(".chunked")
    expect(text).to_be_visible()
    assert text.evaluate("text => text.textContent") == TEXT
    pieces = page.locator(".piece").all_inner_texts()
    assert "".join(pieces).replace("\n", "").replace(" ", "") == TEXT.replace("\n", "").replace(" ", "")
    assert len(pieces) > 2
    assert page.evaluate("window.hacked") is None
    page.locator(".piece", has_text="🐍").click()
    expect(page.locator(".panel h2")).to_contain_text("Chunk")
    expect(page.locator(".panel .facts")).to_contain_text("Tokens")

    before = page.locator(".count").inner_text()
    page.get_by_text("Parameters").click()
    page.get_by_label("chunk_size").fill("100")
    page.get_by_label("chunk_size").press("Tab")
    expect(page.locator(".count")).not_to_have_text(before)
    expect(page.locator(".count")).to_contain_text("1 chunk")
    assert "p.chunk_size=100" in page.url
    assert "Satz" not in page.url
    page.reload()
    expect(page.get_by_label("Text")).to_have_value(TEXT)
    expect(page.locator(".count")).to_contain_text("1 chunk")


def test_parents_of_a_pasted_text_can_be_looked_at(visit: Visit) -> None:
    page = visit("#/cut?strategy=hierarchical&p.parent_size=60&p.child_size=20")
    page.get_by_label("Text").fill(TEXT)
    expect(page.locator(".chunked")).to_be_visible()
    children = page.locator(".edge").count()
    page.get_by_label("Level").select_option("1")
    expect(page.locator(".count")).to_contain_text("chunks of")
    assert 0 < page.locator(".edge").count() < children


def test_a_parameter_that_breaks_a_rule_is_told(visit: Visit) -> None:
    page = visit("#/cut?strategy=sentence&p.chunk_size=-5", expect_errors=True)
    page.get_by_label("Text").fill(TEXT)
    expect(page.locator(".problem")).to_contain_text("chunk_size")


def test_every_strategy_cuts_the_same_text(visit: Visit) -> None:
    page = visit("#/cut")
    page.get_by_label("Text").fill(TEXT)
    page.get_by_role("button", name="Cut with every strategy").click()
    rows = page.locator("tbody tr")
    expect(page.locator("#announcer")).to_have_text("10 strategies done", timeout=60_000)
    assert rows.locator("th").all_inner_texts() == [
        "character", "word", "token", "sentence", "structure", "semantic", "cluster", "hierarchical", "multigranular",
        "llm",
    ]  # fmt: skip
    assert page.locator("td.problem").count() == 0
    assert page.locator(".strip").count() == 10
    page.get_by_role("button", name="structure", exact=True).click()
    expect(page.locator(".chunked")).to_be_visible()
    expect(page.get_by_label("Strategy")).to_have_value("structure")
