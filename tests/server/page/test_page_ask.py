"""The page as a student uses it to ask questions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from tests.server.page.conftest import Serve, Visit, expect
from tests.server.test_ask import Model

QUESTION = "Does a while loop ask first?"


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Iterator[str]]], None]:
    """Return a function that replaces the model of the settings by one with a given answer."""

    def use(pieces: Callable[[], Iterator[str]]) -> None:
        monkeypatch.setattr("kinsplit.answering.resolve", lambda _: Model(pieces))

    return use


def test_an_answer_comes_in_pieces_and_its_citations_lead_to_the_sources(
    visit: Visit, serve: Serve, says: Callable[..., None]
) -> None:
    go_on = threading.Event()

    def pieces() -> Iterator[str]:
        yield "😀 A while loop asks first whether its condition holds [1]. <b>Uni"
        go_on.wait(20)
        yield "corns</b> invented it in 1812 [1]. It flies [99]."

    says(pieces)
    page = visit("#/ask", address=serve(model="ollama:any"))
    page.get_by_role("searchbox").fill(QUESTION)
    page.get_by_role("button", name="Ask").click()
    answer = page.get_by_role("region", name="Answer")
    expect(answer).to_contain_text("😀 A while loop asks first whether its condition holds")
    expect(answer).to_have_attribute("aria-busy", "true")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.locator("#source-1")).to_be_visible()
    go_on.set()
    expect(answer.locator(".verdict")).to_contain_text("Some sentences were not found")
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    expect(answer).not_to_have_attribute("aria-busy", "true")
    expect(answer.locator(".text")).to_contain_text("<b>Unicorns</b> invented it in 1812")
    expect(answer.locator(".doubtful").first).to_contain_text("Unicorns")
    expect(answer.locator(".cite.off")).to_have_text("99")
    expect(answer.locator(".notice", has_text="cites [99]")).to_be_visible()
    expect(answer).to_contain_text("Written by model.")
    answer.get_by_role("link", name="Source 1").first.click()
    source = page.locator("#source-1")
    expect(source).to_be_focused()
    expect(source.locator("mark").first).to_contain_text("A while loop 🐍 asks first")
    expect(source.locator("mark").first).to_be_in_viewport()

    source.locator(".open").click()
    expect(page.locator(".chunked")).to_be_visible()
    page.go_back()
    expect(answer.locator(".verdict")).to_be_visible()  # The answer is kept.


def test_the_markdown_of_an_answer_is_rendered_with_its_citations(
    visit: Visit, serve: Serve, says: Callable[..., None]
) -> None:
    said = (
        "A **while loop** asks first whether its condition holds [1].\n\n"
        "| loop | asks |\n|---|---|\n| while | first [1] |\n\n"
        "- Unicorns invented `loops` in 1812 [1][2].\n- <script>hacked = 1</script> ![Map](https://evil.example/map.png)\n"
    )
    says(lambda: iter([said]))
    page = visit(f"#/ask?q={QUESTION}", address=serve(model="ollama:any"))
    text = page.locator(".answer .text")
    expect(text.locator("strong")).to_have_text("while loop")
    expect(text.locator("td").last).to_have_text("first 1")
    expect(text.locator("li .doubtful").first).to_contain_text("Unicorns invented ")
    expect(text.locator("li").first).to_have_text("Unicorns invented loops in 1812 12.")
    expect(text.locator(".cite")).to_have_text(["1", "1", "1", "2"])
    expect(text.locator("li").last).to_contain_text("<script>hacked = 1</script> Map")
    assert page.evaluate("window.hacked") is None
    assert not text.locator("mark, script, img").count()


def test_an_answer_whose_markup_hides_a_citation_is_shown_as_text(
    visit: Visit, serve: Serve, says: Callable[..., None]
) -> None:
    # A cell too many is left out of a table.
    says(lambda: iter(["| loop |\n|---|\n| A while loop asks first. | [1] |\n"]))
    page = visit(f"#/ask?q={QUESTION}", address=serve(model="ollama:any"))
    text = page.locator(".answer .text")
    expect(page.locator(".verdict")).to_be_visible()
    expect(text.locator(".cite")).to_have_text("1")
    expect(text).to_contain_text("|---|")


def test_an_answer_can_be_stopped(visit: Visit, serve: Serve, says: Callable[..., None]) -> None:
    ended = threading.Event()

    def pieces() -> Iterator[str]:
        try:
            yield "A while loop asks first [1]. "
            for n in range(2000):
                yield f"Word {n} "
                threading.Event().wait(0.02)
        finally:
            ended.set()

    says(pieces)
    page = visit(f"#/ask?q={QUESTION}", address=serve(model="ollama:any"))
    answer = page.get_by_role("region", name="Answer")
    expect(answer).to_contain_text("Word 3")
    page.get_by_role("button", name="Stop").click()
    expect(answer).to_contain_text("Stopped.")
    expect(page.get_by_role("searchbox")).to_be_focused()
    said = answer.inner_text()
    assert ended.wait(15)
    assert answer.inner_text() == said
    page.get_by_role("button", name="Ask").click()
    expect(answer).to_contain_text("Word 3")
    page.keyboard.press("Escape")
    expect(answer).to_contain_text("Stopped.")


def test_without_a_model_the_best_sentences_are_quoted(visit: Visit) -> None:
    page = visit("#/search?q=while+loop+condition")
    page.get_by_role("link", name="Answer it").click()
    answer = page.get_by_role("region", name="Answer")
    expect(answer.locator(".verdict")).to_have_text("Quoted from the passages, word for word.")
    expect(answer.locator(".notice")).to_contain_text("No model was asked.")
    expect(answer.locator(".text")).to_contain_text("A while loop 🐍 asks first whether its condition holds. 1")
    expect(answer.locator("blockquote .cite").first).to_have_text("1")
    expect(answer.locator("blockquote mark")).to_have_count(0)
    expect(page.locator("#announcer")).to_contain_text("The answer is complete.")
    expect(page.locator("#source-1 mark").first).to_be_visible()


def test_an_answer_keeps_to_the_filters_of_the_search(visit: Visit) -> None:
    page = visit("#/search?q=rabbits+loop&where=course=6.0001")
    expect(page.locator(".passage").first).to_be_visible()
    page.get_by_role("link", name="Answer it").click()
    sources = page.get_by_role("region", name="Sources").locator(".open")
    expect(page.locator(".verdict")).to_be_visible()
    assert set(sources.all_inner_texts()) == {"loops.md"}
    page.get_by_label("Course").select_option("")
    page.get_by_role("button", name="Ask").click()
    expect(sources.nth(1)).to_be_visible()
    assert "where" not in page.url
    page.get_by_role("combobox", name="Kind of material").select_option("pdf")
    page.get_by_role("button", name="Ask").click()
    expect(sources).to_have_text(["ice.pdf"])
    assert "where=file_type%3Dpdf" in page.url


def test_a_problem_in_the_middle_of_an_answer_is_told(visit: Visit) -> None:
    page = visit(expect_errors=True)
    error = '{"field": null, "rule": "took longer than 30 s", "value": null, "remedy": "Ask again later."}'
    data = {"sources": '{"sources": []}', "text": '{"text": "So far"}', "error": error}
    events = "".join(f"event: {name}\ndata: {line}\n\n" for name, line in data.items())
    page.route("**/ask", lambda route: route.fulfill(body=events, content_type="text/event-stream"))
    page.goto(page.url.split("#")[0] + "#/ask?q=rabbits")
    answer = page.get_by_role("region", name="Answer")
    expect(answer.locator(".text")).to_have_text("So far")
    expect(answer.locator(".problem")).to_contain_text("took longer than 30 s")
    page.unroute("**/ask")
    broken = events.split("event: error")[0]
    page.route("**/ask", lambda route: route.fulfill(body=broken, content_type="text/event-stream"))
    answer.get_by_role("button", name="Try again").click()
    expect(answer.locator(".notice")).to_have_text("The answer is incomplete.")
