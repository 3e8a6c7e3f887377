"""Accessibility: axe finds no serious violation on any view, and the keyboard reaches everything."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.server.page.conftest import LOOPS, Serve, Visit, expect

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="looking for violations needs axe")


def opened(page: Any, place: str, shown: str) -> None:
    page.goto(page.url.split("#")[0] + f"#/{place}")
    expect(page.locator(shown).first).to_be_visible()


def the_search(page: Any) -> None:
    opened(page, "search?q=while+loop+rabbits&where=course!=none&top_k=2", ".passage")
    page.get_by_text("More options").click()
    page.get_by_text("Expert options").click()
    page.get_by_text("Why this passage?").first.click()
    expect(page.locator(".expert form, .why .parts")).to_have_count(2)


def the_start(page: Any) -> None:
    opened(page, "search", ".state-title")


def the_error(page: Any) -> None:
    error = {"field": "q", "rule": "is odd", "value": 1, "remedy": "Ask for an even one."}
    page.route("**/search?*", lambda route: route.fulfill(status=422, body=json.dumps({"error": error})))
    opened(page, "search?q=odd", ".problem")


def the_answer(page: Any) -> None:
    opened(page, "ask?q=while+loop+condition", ".verdict")


def a_rendered_document(page: Any) -> None:
    opened(page, "search?q=rabbits+hop&window=10&where=file_type!=pdf&top_k=1", ".rendered")
    page.get_by_role("button", name="Show the whole passage").click()
    expect(page.locator(".rendered table")).to_be_visible()


def a_page(page: Any) -> None:
    opened(page, "search?q=second+page+glaciers&top_k=1", ".page-picture img")


def the_comparison(page: Any) -> None:
    opened(page, "compare?q=while+loop+condition&top_k=2", ".passage")


def the_documents(page: Any) -> None:
    opened(page, "documents", ".documents")


def the_source(page: Any) -> None:
    opened(page, "document?id=cs%2Floops.md&strategy=hierarchical&at=10-40", ".chunked")


def the_cut(page: Any) -> None:
    opened(page, "cut?strategy=sentence&p.chunk_size=8&p.chunk_overlap=4", "textarea")
    page.get_by_label("Text").fill(LOOPS)
    page.locator(".piece").first.click()
    page.get_by_text("Parameters").click()


def every_cut(page: Any) -> None:
    # One strategy for all requests, which needs no model.
    page.route("**/chunk", lambda route: route.continue_(post_data=json.dumps({"text": LOOPS, "strategy": "word"})))
    opened(page, "cut?strategy=word", "textarea")
    page.get_by_label("Text").fill(LOOPS)
    page.get_by_role("button", name="Cut with every strategy").click()
    expect(page.locator(".strip")).to_have_count(10)


def the_help(page: Any) -> None:
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(page.get_by_role("dialog")).to_be_visible()


VIEWS = (
    *(the_start, the_search, a_rendered_document, a_page, the_error, the_answer, the_comparison),
    *(the_documents, the_source, the_cut, every_cut, the_help),
)


def violations(page: Any, *rules: str) -> list[str]:
    """Return the serious violations of all rules, or of the given ones."""
    options: dict[str, Any] = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    if not page.evaluate("'axe' in window"):  # Reading it takes as long as a look at a small view.
        page.evaluate(axe.Axe().axe_script)
    found = page.evaluate("options => axe.run(options).then((found) => found.violations)", options)
    return [
        f"{each['impact']} {each['id']}: {node['html'][:200]} {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def test_axe_finds_nothing_serious_on_any_view(visit: Visit) -> None:
    page = visit(color_scheme="light", reduced_motion="reduce", expect_errors=True)
    found = {}
    for show in VIEWS:
        show(page)
        # The theme changes colours only.
        found[show.__name__, "light"] = violations(page)
        page.emulate_media(color_scheme="dark")
        found[show.__name__, "dark"] = violations(page, "color-contrast")
        page.emulate_media(color_scheme="light")
        page.unroute_all()
    assert not any(found.values()), found


def test_axe_finds_nothing_serious_on_a_phone_that_needs_a_key(visit: Visit, serve: Serve) -> None:
    address = serve(api_keys="right-key")
    page = visit(address=address, viewport={"width": 375, "height": 760}, expect_errors=True)
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []


def test_axe_would_find_something(visit: Visit) -> None:
    page = visit(color_scheme="light")
    page.evaluate("document.querySelector('label[for=question]').remove()")
    page.evaluate("document.getElementById('question').removeAttribute('placeholder')")
    assert violations(page)
    page.emulate_media(color_scheme="dark")
    page.evaluate("document.querySelector('#views a').style.color = '#333'")
    assert violations(page, "color-contrast")


def test_the_keyboard_alone_gets_from_question_to_source_and_back(visit: Visit) -> None:
    page = visit()
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("while loop condition?t")  # "?" and "t" are shortcuts, except in the question.
    expect(page).to_have_url(re.compile(r"condition%3Ft"))  # Not the passages of half a question.
    expect(page.locator(".results:not([aria-busy]) .passage").first).to_be_visible()
    assert page.get_by_role("dialog").count() == 0
    page.keyboard.press("ArrowDown")
    expect(page.locator(".passage .open").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".edge[aria-current]")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("j")  # The dialog receives the keys.
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".edge[aria-current]")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".passage .open").first).to_be_focused()
    page.keyboard.press("3")
    expect(page.get_by_role("heading", name="Documents", exact=True)).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()


def test_single_keys_can_be_switched_off(visit: Visit) -> None:
    page = visit("#/documents")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_label("Enable single-key shortcuts").uncheck()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("1")
    page.reload()
    expect(page.locator(".documents").first).to_be_visible()
    page.keyboard.press("1")
    page.wait_for_timeout(200)
    assert "#/documents" in page.url


def test_the_theme_follows_the_system_until_somebody_chooses(visit: Visit) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    page = visit("#/cut", color_scheme="dark")
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Switch to light colours").click()
    light = page.evaluate(ground)
    assert light != dark
    page.reload()
    assert page.evaluate(ground) == light
    expect(page.get_by_role("button", name="Switch to dark colours")).to_be_visible()


def test_nothing_moves_for_those_who_want_no_motion(visit: Visit) -> None:
    page = visit("#/search?q=rabbits", reduced_motion="reduce")
    expect(page.locator(".passage").first).to_be_visible()
    lasts = page.evaluate(
        "() => [...document.querySelectorAll('*')].map((e) => parseFloat(getComputedStyle(e).animationDuration))"
    )
    assert max(lasts) < 0.001
