"""The page as a student uses it to read the source of a passage."""

from __future__ import annotations

import re
from typing import Any

from tests.server.page.conftest import LOOPS, Visit, expect


def current(page: Any) -> str:
    return "".join(page.locator(".piece.current").all_inner_texts())


def test_a_passage_opens_in_its_source_with_the_boundaries_drawn(visit: Visit) -> None:
    page = visit("#/search?q=while+loop+condition")
    page.locator(".passage").first.get_by_role("link", name="loops.md").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("loops.md")
    text = page.locator(".chunked")
    # The numbers at the boundaries are not part of the text, so copied text is that of the source.
    assert text.evaluate("text => text.textContent") == LOOPS.strip()
    numbers = page.get_by_role("button", name=re.compile(r"^Part \d")).evaluate_all(
        "all => all.map(one => one.ariaLabel)"
    )
    assert numbers == [f"Part {n}" for n in range(1, len(numbers) + 1)]
    assert current(page) == "## While\n\nA while loop 🐍 asks first whether its condition holds."
    expect(page.get_by_role("button", name="Part 2")).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("button", name="Part 2")).to_be_in_viewport()


def test_keys_lead_to_siblings_parent_and_children(visit: Visit) -> None:
    page = visit("#/search?q=while+loop+condition&strategy=hierarchical")
    page.locator(".passage").first.locator(".open").click()
    name = page.locator(".panel h2")
    expect(name).to_contain_text("Part")
    start, text = name.inner_text(), current(page)
    page.keyboard.press("j")
    expect(name).not_to_have_text(start)
    assert current(page) != text
    expect(page.locator("#announcer")).to_contain_text(name.inner_text())
    page.keyboard.press("ArrowLeft")
    expect(name).to_have_text(start)
    page.keyboard.press("p")
    expect(name).to_contain_text("Section")
    assert text in current(page)
    page.keyboard.press("p")
    expect(page.locator("#announcer")).to_have_text("No section here")
    page.keyboard.press("c")
    expect(name).to_contain_text("Part")
    while page.locator("[data-way='previous']").get_attribute("aria-disabled") is None:
        page.keyboard.press("k")
    assert name.inner_text().startswith("Part 1 of")
    page.keyboard.press("k")
    expect(page.locator("#announcer")).to_have_text("No previous here")


def test_the_buttons_lead_there_too_and_keep_the_focus(visit: Visit) -> None:
    page = visit("#/document?id=cs%2Floops.md&strategy=sentence")
    following = page.get_by_role("button", name="Next")
    expect(page.locator(".panel h2")).to_contain_text("Part 1 of")
    following.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator(".panel h2")).to_contain_text("Part 3 of")
    expect(following).to_be_focused()
    page.locator(".piece", has_text="Somebody has to end it").click()
    expect(page.locator(".panel h2")).to_contain_text("Part 1 of")


_RESTING_PLACE = """() => new Promise((resolve) => {
    let last = -1;
    const timer = setInterval(() => {
        if (scrollY === last) {
            clearInterval(timer);
            resolve(last);
        }
        last = scrollY;
    }, 300);
})"""


def test_the_way_back_leads_to_the_passage_that_was_left(visit: Visit) -> None:
    page = visit("#/search?q=sentence+loop&top_k=8")
    links = page.locator(".passage .open")
    expect(links.nth(2)).to_be_visible()
    page.get_by_role("searchbox").press("ArrowDown")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(links.nth(2)).to_be_focused()
    assert page.evaluate(_RESTING_PLACE) > 0  # The scroll position is saved once scrolling stops.
    page.keyboard.press("o")
    expect(page.locator(".chunked")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    expect(links.nth(2)).to_be_focused()
    # Not at the same number of pixels, since what is rendered later may make a passage higher or lower.
    assert page.evaluate(_RESTING_PLACE) > 0
    expect(links.nth(2)).to_be_in_viewport()
    page.go_forward()
    expect(page.locator(".chunked")).to_be_visible()


def test_who_came_by_a_link_gets_from_a_source_to_the_list(visit: Visit) -> None:
    page = visit("#/document?id=long.txt&strategy=structure")
    expect(page.locator(".chunked")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".documents").first).to_be_visible()
    assert "strategy=structure" in page.url


def test_a_place_in_a_document_is_marked(visit: Visit) -> None:
    start = LOOPS.index("Somebody")
    end = start + len("Somebody has to end it.")
    page = visit(f"#/document?id=cs%2Floops.md&strategy=sentence&at={start}-{end}")
    expect(page.locator(".chunked mark")).to_have_text("Somebody has to end it.")
    assert "Somebody has to end it." in current(page)


def test_a_chunk_or_document_that_is_gone_is_told(visit: Visit) -> None:
    page = visit("#/document?id=cs%2Floops.md&chunk=11111111-1111-1111-1111-111111111111", expect_errors=True)
    expect(page.get_by_text("This part no longer exists")).to_be_visible()
    expect(page.locator(".chunked")).to_be_visible()
    page.goto(page.url.split("#")[0] + "#/document?id=..%2F..%2Fetc%2Fpasswd")
    expect(page.locator(".problem")).to_contain_text("must be the id of a document")


def test_pages_are_told(visit: Visit) -> None:
    page = visit("#/document?id=ice.pdf&strategy=sentence")
    expect(page.locator(".panel .facts")).to_contain_text("p")
    expect(page.locator(".panel .facts div", has_text="Pages")).to_be_visible()


def test_documents_are_listed_and_found_by_name(visit: Visit) -> None:
    page = visit("#/documents")
    expect(page.locator(".documents li")).to_have_count(5)
    page.get_by_label("Filter by name").fill("LOOP")
    expect(page.locator(".count")).to_have_text("1 document of 5")
    page.get_by_role("link", name="loops.md").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("loops.md")
    page.go_back()
    expect(page.get_by_label("Filter by name")).to_have_value("LOOP")
