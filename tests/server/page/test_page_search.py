"""The page as a student uses it to search."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.server.page.conftest import HOSTILE_ID, Serve, Visit, ask_for, expect


def test_a_question_is_answered_as_it_is_typed_and_the_hit_is_marked(visit: Visit) -> None:
    page = visit()
    expect(page.get_by_text("5 documents can be searched")).to_be_visible()
    box = page.get_by_role("searchbox", name="Question")
    expect(box).to_be_focused()
    box.press_sequentially("while loop condition", delay=15)
    first = page.locator(".passage").first
    # The text before it has characters of two UTF-16 units, so code point offsets would mark other text.
    holds = "A while loop 🐍 asks first whether its condition holds."
    expect(first.locator("mark.best")).to_have_text(holds)
    expect(first.locator(".rendered")).to_have_text(re.compile(f"^… {holds}"))
    first.get_by_role("button", name="Show the whole passage").click()
    expect(first.locator(".rendered")).to_contain_text("While")
    first.get_by_role("button", name="Plain text").click()
    expect(first.locator("mark.best")).to_have_text(holds)
    expect(first.locator(".text")).to_have_text(re.compile(f"^… {holds}"))
    expect(first.get_by_role("link", name="loops.md")).to_be_visible()
    expect(page.locator(".count")).to_have_text("5 passages in 4 documents")
    expect(page.locator("#announcer")).to_have_text("5 passages in 4 documents")
    assert page.title() == "while loop condition – Search – kinsplit"


def test_a_passage_tells_headings_pages_and_the_parts_of_its_score(visit: Visit) -> None:
    page = visit("#/search?q=while+loop+condition&strategy=structure")
    first = page.locator(".passage").first
    expect(first.get_by_role("list", name="Location").get_by_role("listitem")).to_have_text(
        ["6.0001", "Loops 😀🎉", "While"]
    )
    expect(first.get_by_text("Meaning")).to_have_count(0)
    first.get_by_text("Why this passage?").click()
    expect(first.locator(".parts dt")).to_contain_text(
        ["Meaning", "Words", "Siblings", "Section", "Document", "Best part", "Together"]
    )
    total = first.locator(".part", has_text="Together").locator(".figure").inner_text()
    expect(first.locator(".why p").first).to_have_text(re.compile(rf"^cs/loops\.md, part 2 of 3, score {total}$"))
    widths = first.locator(".parts .fill").evaluate_all("bars => bars.map(bar => parseFloat(bar.style.width))")
    assert len(widths) == 7
    assert all(0 <= width <= 100 for width in widths)
    assert max(widths) == 100

    ice = ask_for(page, "second page glaciers").first
    expect(ice.locator(".pages")).to_contain_text("p")


def test_a_long_passage_shows_its_hit_and_opens(visit: Visit) -> None:
    page = visit("#/search?q=walrus&window=10")
    first = page.locator(".passage").first
    expect(first.locator("mark.best")).to_contain_text("A walrus 🦭 sleeps here.")
    short = len(first.locator(".text").inner_text())
    first.get_by_role("button", name="Show the whole passage").click()
    expect(first.get_by_role("button", name="Show less")).to_have_attribute("aria-expanded", "true")
    assert len(first.locator(".text").inner_text()) > short + 200


@pytest.mark.filterwarnings("ignore::kinsplit.stores.filter_check.FilterWarning")
def test_filters_are_offered_and_taken_away(visit: Visit) -> None:
    page = visit("#/search?q=rabbits+loop")
    page.get_by_label("Course").select_option("6.0001")
    expect(page.locator(".passage")).to_have_count(1)
    assert "where=course%3D6.0001" in page.url
    page.get_by_label("Course").select_option("")
    expect(page.locator(".passage").nth(1)).to_be_visible()
    page.get_by_text("More options").click()
    page.get_by_label("Filter", exact=True).fill("subject=history")
    page.get_by_role("button", name="Add").click()
    page.get_by_role("button", name="Remove the filter subject=history").click()
    expect(page.locator(".passage").nth(1)).to_be_visible()
    page.get_by_label("Filter", exact=True).fill("subject=history")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("Remove a filter, or use other words.")).to_be_visible()


@pytest.mark.filterwarnings("ignore::kinsplit.stores.filter_check.FilterWarning")
def test_filters_can_be_chosen_from_what_there_is(visit: Visit) -> None:
    page = visit("#/search?q=rabbits+loop")
    passages = page.locator(".passage .open")
    expect(passages.nth(1)).to_be_visible()
    page.get_by_text("More options").click()
    kind = page.get_by_role("combobox", name="Kind of material")
    expect(kind.get_by_role("option")).to_have_text(["All", "md · 1 document", "PDF · 1 document"])
    # There is only one subject, so there is no choice.
    expect(page.get_by_role("combobox", name="Subject")).to_have_count(0)
    kind.focus()
    kind.select_option("md")
    expect(passages).to_have_text(["loops.md"])
    assert "where=file_type%3Dmd" in page.url
    expect(kind).to_be_focused()
    kind.select_option("pdf")
    expect(passages).to_have_text(["ice.pdf"])
    # A second value, added elsewhere, applies as well.
    page.get_by_label("Filter", exact=True).fill("file_type=md")
    page.get_by_role("button", name="Add").click()
    expect(kind.locator("option:checked")).to_have_text("Several")
    expect(passages).to_have_count(2)
    page.get_by_role("button", name="Remove the filter file_type=pdf").click()
    expect(kind).to_have_value("md")
    kind.select_option("")
    expect(kind).to_have_value("")
    page.get_by_label("Filter", exact=True).fill("file_type=docx")
    page.get_by_role("button", name="Add").click()
    expect(kind).to_have_value("docx")
    page.get_by_text("Expert options").click()
    page.get_by_label("Strategy").select_option("structure")
    expect(page.locator(".state")).to_contain_text("Nothing found")
    expect(page.locator(".state")).to_contain_text("no chunk has file_type = 'docx'")
    expect(kind).to_have_value("docx")


def test_filters_that_can_not_be_listed_are_told(visit: Visit) -> None:
    page = visit("#/search?q=rabbits", expect_errors=True)
    page.route("**/filters", lambda route: route.fulfill(status=503, body="down"))
    # The open view has already listed them.
    page.reload()
    expect(page.locator(".passage").first).to_be_visible()
    expect(page.get_by_text("The filters could not be loaded")).to_be_visible()


def test_an_address_with_a_strategy_that_is_not_indexed_says_what_is_shown_instead(visit: Visit) -> None:
    page = visit("#/search?q=rabbits&strategy=semantic", expect_errors=True)
    note = "Nothing is indexed with “semantic” here; this is “sentence”."
    expect(page.get_by_text(note)).to_be_visible()
    expect(page.locator(".passage").first).to_be_visible()
    for view in ("ask?strategy=semantic", "documents?strategy=semantic", "compare?a=semantic"):
        page.goto(page.url.split("#")[0] + f"#/{view}")
        expect(page.get_by_text(note)).to_be_visible()


def test_an_address_brings_back_what_was_seen(visit: Visit) -> None:
    page = visit("#/search?q=rabbits&strategy=structure&top_k=2&where=course!=6.0001")
    expect(page.get_by_role("searchbox")).to_have_value("rabbits")
    expect(page.locator(".count")).to_have_text(re.compile("^2 passages"))
    page.get_by_text("More options").click()
    page.get_by_text("Expert options").click()
    expect(page.get_by_label("Passages", exact=True).first).to_have_value("2")
    expect(page.get_by_label("Strategy")).to_have_value("structure")
    page.get_by_label("Rank by", exact=True).select_option("terms")
    expect(page.locator(".results:not([aria-busy]) .passage").first).to_be_visible()
    page.locator(".passage").first.get_by_text("Why this passage?").click()
    expect(page.locator(".passage .parts dt").first).to_have_text("Words BM25 of the words they share")
    page.reload()
    expect(page.locator(".count")).to_have_text(re.compile("^2 passages"))
    assert "ranking=terms" in page.url


def test_a_share_of_the_budget_goes_to_the_context(visit: Visit) -> None:
    page = visit("#/search?q=rabbits+loop", expect_errors=True)
    page.get_by_text("More options").click()
    page.get_by_text("Expert options").click()
    page.get_by_label("Share of the budget for context").fill("0.5")
    page.keyboard.press("Tab")
    expect(page.get_by_text("context_share needs a budget. Give one, or leave it out.")).to_be_visible()
    page.get_by_label("Budget in tokens").fill("40")
    page.keyboard.press("Tab")
    expect(page.locator(".passage").first).to_be_visible()
    assert "budget=40&context_share=0.5" in page.url


def test_an_answer_that_comes_too_late_is_dropped(visit: Visit) -> None:
    page = visit()
    held, failed = [], []
    page.route("**/search?q=rabbits*", lambda route: held.append(route))
    page.on("requestfailed", lambda request: failed.append(request.url))
    box = page.get_by_role("searchbox")
    box.fill("rabbits")
    page.wait_for_timeout(500)  # Longer than the pause in typing.
    assert len(held) == 1
    passages = ask_for(page, "while loop condition")
    expect(passages.first.locator("mark.best").last).to_contain_text("A while loop")
    assert len(failed) == 1
    assert "q=rabbits" in failed[0]
    box.press_sequentially(" holds")
    expect(page.locator(".passage").first.locator("mark.best").last).to_contain_text("A while loop")


def test_typing_asks_once_for_a_word(visit: Visit) -> None:
    page = visit()
    asked: list[str] = []
    page.on("request", lambda request: "/search?" in request.url and asked.append(request.url))
    page.get_by_role("searchbox").press_sequentially("rabbits", delay=10)
    expect(page.locator(".passage").first).to_be_visible()
    assert len(asked) == 1


def test_the_back_button_leads_to_the_question_before(visit: Visit) -> None:
    page = visit()
    box = page.get_by_role("searchbox")
    box.press_sequentially("rabbits", delay=10)
    box.press("Enter")
    expect(page.locator(".count")).to_be_visible()
    first = page.url
    box.fill("")
    box.press_sequentially("walrus", delay=300)  # Each letter starts a search, but adds no history entry.
    box.press("Enter")
    expect(page.locator("mark.best", has_text="walrus").first).to_be_visible()
    page.go_back()
    expect(box).to_have_value("rabbits")
    assert page.url == first
    page.go_forward()
    expect(box).to_have_value("walrus")


def test_nothing_in_a_hostile_document_is_alive(visit: Visit) -> None:
    page = visit("#/search?q=rabbits+<script>window.hacked=1</script>&window=10")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    card = page.locator(".passage", has_text="eat clover").first
    shown = card.locator(".rendered")
    expect(shown).to_contain_text("<script>window.hacked = 1</script>")
    expect(card.locator("a.open")).to_have_text(HOSTILE_ID.removeprefix("cs/"))
    # It looks as it does elsewhere: formulas, a table, code.
    displays = shown.locator("math").evaluate_all("all => all.map((each) => getComputedStyle(each).display)")
    assert displays == ["math", "block math"]
    expect(shown.locator("math").first).to_have_text("n2")
    expect(shown.get_by_role("cell")).to_have_text(["May", "12"])
    expect(shown.locator("pre .word").first).to_have_text("def")
    expect(shown.get_by_role("link")).to_have_text(["Warren"])
    expect(shown.locator(".picture")).to_have_text("Burrow")
    card.locator("a.open").click()
    expect(page.locator(".chunked")).to_contain_text('<img src=x onerror="window.hacked = 1">')
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE_ID.removeprefix("cs/"))
    page.get_by_role("button", name="Formatted").click()
    mark = page.locator(".sheet .rendered mark.best").first
    chunk = mark.inner_text()
    page.keyboard.press("j")
    expect(mark).not_to_have_text(chunk)
    assert page.evaluate("window.hacked") is None
    live = "main :is(img, script, iframe, [onerror], [style], [src]), main a[href^='javascript'], main a[href^='data']"
    assert page.locator(live).count() == 0
    base = page.url.split("#")[0]
    # Pictures of pages are fetched from the service, and shown from memory.
    assert [url for url in asked if not url.removeprefix("blob:").startswith(base)] == []


def test_a_page_of_a_pdf_is_shown_with_its_lines_marked(visit: Visit, ice: Path) -> None:
    page = visit("#/search?q=second+page+glaciers&window=0&top_k=1")
    card = page.locator(".passage").first
    picture = card.get_by_role("img", name="Page 2 of ice.pdf, 1 line marked")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") >= 600
    with page.expect_download() as download:
        card.get_by_role("button", name="Original file").click()
    assert download.value.suggested_filename == "ice.pdf"
    assert Path(download.value.path()).read_bytes() == ice.read_bytes()
    card.get_by_role("button", name="Text").click()
    expect(card.locator("mark.best")).to_contain_text("The second page is about glaciers.")
    card.locator("a.open").click()
    page.locator(".sheet").get_by_role("button", name="Page", exact=True).click()
    expect(page.locator(".sheet").get_by_role("img", name="Page 1 of ice.pdf")).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator(".sheet").get_by_role("img", name="Page 3 of ice.pdf, 1 line marked")).to_be_visible()


def test_a_phone_shows_the_text_of_a_page_first(visit: Visit, ice: Path) -> None:
    page = visit("#/search?q=second+page+glaciers&window=0&top_k=1", viewport={"width": 390, "height": 760})
    card = page.locator(".passage").first
    expect(card.locator("mark.best")).to_contain_text("The second page is about glaciers.")
    card.get_by_role("button", name="Page", exact=True).click()
    expect(card.get_by_role("img", name="Page 2 of ice.pdf, 1 line marked")).to_be_visible()


def test_a_file_that_changed_is_shown_as_its_text(visit: Visit, ice: Path) -> None:
    data = ice.read_bytes()
    ice.write_bytes(data + b" ")
    try:
        page = visit("#/search?q=second+page+glaciers&window=0&top_k=1", expect_errors=True)
        card = page.locator(".passage").first
        expect(card.get_by_text("Shown as text: the file has changed since it was indexed.")).to_be_visible()
        expect(card.locator("mark.best")).to_contain_text("The second page is about glaciers.")
        card.get_by_role("button", name="Original file").click()
        expect(card.get_by_text("file has changed since it was indexed", exact=True)).to_be_visible()
        assert card.get_by_role("button", name="Page").count() == 0
    finally:
        ice.write_bytes(data)


def test_markup_that_slips_past_the_page_is_stopped_by_its_policy(visit: Visit) -> None:
    page = visit(expect_errors=True)
    with pytest.raises(Exception, match="TrustedHTML"):
        page.evaluate("document.body.innerHTML = '<img src=x onerror=alert(1)>'")


def test_text_from_right_to_left_runs_so(visit: Visit) -> None:
    page = visit("#/search?q=הארנב")
    text = page.locator(".passage").first.locator(".rendered")
    expect(text).to_contain_text("הארנב רץ מהר")
    assert text.evaluate("text => getComputedStyle(text).direction") == "rtl"


def test_a_problem_is_told_as_the_service_tells_it_and_can_be_tried_again(visit: Visit) -> None:
    page = visit(expect_errors=True)
    error = {"field": "q", "rule": "is odd", "value": "<b>x</b>", "remedy": "Ask for an even one."}
    page.route("**/search?*", lambda route: route.fulfill(status=422, body=json.dumps({"error": error})))
    ask_for(page, "rabbits")
    box = page.locator(".problem")
    expect(box).to_contain_text("q is odd")
    expect(box).to_contain_text("Ask for an even one.")
    expect(box.locator("code")).to_have_text('"<b>x</b>"')
    expect(page.locator("#announcer")).to_have_text("q is odd. Ask for an even one.")
    page.unroute("**/search?*")
    page.route("**/search?*", lambda route: route.fulfill(status=502, body="<h1>Bad gateway</h1>"))
    page.get_by_role("button", name="Try again").click()
    expect(box).to_contain_text("The service responded with status 502")
    page.unroute("**/search?*")
    page.route("**/search?*", lambda route: route.abort())
    page.get_by_role("button", name="Try again").click()
    expect(box).to_contain_text("The service does not respond")
    page.unroute("**/search?*")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".passage").first).to_be_visible()


def test_a_key_is_asked_for_and_kept_until_the_tab_is_closed(visit: Visit, serve: Serve) -> None:
    page = visit("#/search?q=rabbits", address=serve(api_keys="right-key"), expect_errors=True)
    dialog = page.get_by_role("dialog", name="API key")
    expect(dialog).to_contain_text("This service requires an API key.")
    expect(dialog.get_by_label("API key")).to_be_focused()
    dialog.get_by_label("API key").fill("wrong")
    dialog.get_by_label("API key").press("Enter")
    expect(dialog).to_contain_text("This key is not valid.")
    dialog.get_by_label("API key").fill("right-key")
    dialog.get_by_role("button", name="Use this key").click()
    expect(page.locator(".passage").first).to_be_visible()
    page.reload()
    expect(page.locator(".passage").first).to_be_visible()
    assert "right-key" not in page.url
    assert page.evaluate("localStorage.length") == 0


def test_whoever_has_no_key_is_told_so_and_left_alone(visit: Visit, serve: Serve) -> None:
    page = visit("#/cut", address=serve(api_keys="right-key"), expect_errors=True)
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator(".problem")).to_contain_text("The service requires an API key")
    page.get_by_role("link", name="Documents").click()
    expect(page.get_by_role("heading", name="Documents")).to_be_visible()
    expect(page.locator(".problem")).to_contain_text("The service requires an API key")
    assert dialog.count() == 0
    page.get_by_role("button", name="Enter a key").click()
    expect(dialog).to_be_visible()


@pytest.mark.parametrize("width", [375, 1280])
def test_nothing_is_wider_than_the_screen(visit: Visit, width: int) -> None:
    page = visit("#/search?q=rabbits", viewport={"width": width, "height": 760})
    address = page.url.split("#")[0]
    expect(page.locator(".passage").first).to_be_visible()
    for place in (
        "search?q=walrus&window=10",
        "compare?q=walrus",
        "cut",
        "documents",
        "document?id=long.txt",
        "ask?q=walrus",
    ):
        page.goto(f"{address}#/{place}")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place


@pytest.mark.parametrize("view", ["search", "compare", "ask"])
def test_a_question_that_is_sent_before_the_view_is_ready_is_answered(visit: Visit, view: str) -> None:
    page, held = visit(), []
    page.route("**/strategies" if view == "compare" else "**/filters", lambda route: held.append(route))
    page.evaluate(f"location.hash = '#/{view}'")
    page.reload()
    box = page.get_by_role("searchbox", name="Question")
    box.fill("walrus")
    box.press("Enter")
    page.wait_for_timeout(300)  # Longer than the pause after the last letter.
    held.pop().continue_()
    expect(page.locator("main").get_by_text("walrus").first).to_be_visible()
    assert f"#/{view}?q=walrus" in page.url


def test_the_first_search_takes_few_requests_and_bytes(visit: Visit, service: str) -> None:
    page = visit(viewport={"width": 1280, "height": 860}, address="data:text/html,")
    sizes: dict[str, int] = {}
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
    page.goto(f"{service}/#/search?where=file_type!=pdf")  # Without pictures of pages.
    expect(ask_for(page, "while loop condition").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert 8 <= len(sizes) <= 12
    assert sum(sizes.values()) <= 120_000


def test_a_document_is_shown_once_and_a_passage_copied_with_its_citation(visit: Visit) -> None:
    page = visit(
        "#/search?q=sentence+long+text+says&window=0&where=file_type!=pdf",
        permissions=["clipboard-read", "clipboard-write"],
    )
    card = page.locator(".passage", has=page.get_by_role("link", name="long.txt")).first
    card.get_by_text("more places in this document").click()
    more = card.locator(".others a")
    expect(more.first).to_have_text("long.txt")
    card.get_by_role("button", name="Copy").click()
    expect(card.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "says nothing of note." in copied
    assert copied.endswith("— long.txt (long.txt)")
    more.last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("long.txt")


def test_the_first_screen_says_what_is_indexed_and_offers_examples(visit: Visit) -> None:
    titles = ("Lecture 1: Loops and lists", "lecture_2", "Why do larks sing?", "Lecture 4")
    listed = {"course": {"cs": 3, "art": 1}, "title": dict.fromkeys(titles, 1)}
    keys = [
        {
            "key": key,
            "distinct": len(values),
            "values": [{"value": value, "documents": number} for value, number in values.items()],
        }
        for key, values in listed.items()
    ]
    facts = {"strategy": "sentence", "documents": 4, "keys": keys}
    page = visit("#/documents")
    page.route("**/filters", lambda route: route.fulfill(json=facts))
    page.get_by_role("link", name="Search").click()
    expect(page.locator(".state-title")).to_have_text("4 documents can be searched")
    expect(page.get_by_role("list", name="Courses").get_by_role("listitem")).to_have_text(
        ["cs 3 documents", "art 1 document"]
    )
    examples = page.get_by_role("list", name="Examples").get_by_role("link")
    expect(examples).to_have_text(["Why do larks sing?", "Loops and lists"])
    examples.last.click()
    expect(page.get_by_role("searchbox")).to_have_value("Loops and lists")
    expect(page.locator(".passage").first).to_be_visible()


def test_notices_stand_above_the_passages(visit: Visit) -> None:
    page = visit()

    def doubt(route: Any) -> None:
        answer = route.fetch().json()
        route.fulfill(json={**answer, "notices": ["No passage is close to this question."]})

    page.route("**/search?*", doubt)
    expect(ask_for(page, "rabbits").first).to_be_visible()
    expect(page.locator(".results .notice")).to_have_text("No passage is close to this question.")
    expect(page.locator("#announcer")).to_contain_text("No passage is close to this question.")
