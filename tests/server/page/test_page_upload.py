"""Upload of files on the page: picked, dropped, refused and deleted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.server.page.conftest import Serve, Visit, expect

DROP = """(zone, [name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    zone.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
  }
}"""


def lines(page: Any) -> Any:
    return page.get_by_role("list", name="Uploads").get_by_role("listitem")


def test_files_are_uploaded_searched_and_deleted(serve: Serve, visit: Visit, tmp_path: Path) -> None:
    address = serve(store=f"memory:{tmp_path}", collections="uploaded", uploads=tmp_path / "files", max_upload=99_999)
    page = visit("#/documents", address=address)
    expect(page.get_by_text("Nothing is indexed yet")).to_be_visible()
    (tmp_path / "a<b>.md").write_text("Owls hunt at night.")
    (tmp_path / "broken.pdf").write_text("nonsense")
    (tmp_path / "large.md").write_text("x" * 100_000)
    picked = [tmp_path / name for name in ("a<b>.md", "broken.pdf", "large.md")]
    page.get_by_label("Add files").set_input_files(picked)
    expect(lines(page).nth(0)).to_contain_text("Added: 1 chunk")
    expect(lines(page).nth(1)).to_contain_text("Not added: ")
    expect(lines(page).nth(2)).to_contain_text("Not added: It is larger than 99 kB.")
    expect(page.locator("#announcer")).to_have_text("1 file added, 2 failed")
    page.locator(".drop").evaluate(DROP, ["larks.html", "<p>Larks sing at dawn.</p><img src=a>"])
    expect(lines(page).nth(3)).to_contain_text("Added: 1 chunk. 1 picture without a text was left out")
    expect(page.locator(".documents li")).to_have_count(2)
    for name, width, colors in (("desktop", 1280, "light"), ("phone", 390, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=colors)
        if shots := os.environ.get("KINSPLIT_TEST_SCREENSHOTS"):
            page.screenshot(path=f"{shots}/upload-{name}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if axe := pytest.importorskip("axe_playwright_python.sync_playwright"):
            found = axe.Axe().run(page).response["violations"]
            assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []

    # By keyboard alone: Cancel comes first.
    delete = page.get_by_role("button", name="Delete files/a_b_.md")
    delete.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("files/a_b_.md is removed")
    page.keyboard.press("Escape")
    expect(delete).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".documents li")).to_have_count(1)
    expect(page.locator("#announcer")).to_have_text("Deleted files/a_b_.md")
    assert sorted(path.name for path in (tmp_path / "files").iterdir()) == ["larks.html"]


def test_a_row_goes_with_its_file(serve: Serve, visit: Visit, tmp_path: Path) -> None:
    address = serve(store=f"memory:{tmp_path}", collections="uploaded", uploads=tmp_path / "#files")
    page = visit("#/documents", address=address)
    (tmp_path / "rows.jsonl").write_text(
        '{"docid": "a#1", "text": "Owls hunt."}\n{"docid": "b", "text": "Larks sing."}'
    )
    page.get_by_label("Add files").set_input_files(tmp_path / "rows.jsonl")
    expect(page.locator(".documents li")).to_have_count(2)
    page.get_by_role("link", name="rows.jsonl#a#1").click()
    expect(page.get_by_text("Owls hunt.")).to_be_visible()
    page.go_back()
    page.get_by_role("button", name="Delete #files/rows.jsonl").first.click()
    expect(page.get_by_role("dialog")).to_contain_text(
        "#files/rows.jsonl is removed from the index with all of its rows"
    )
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".documents li")).to_have_count(0)
    assert list((tmp_path / "#files").iterdir()) == []


def test_without_the_setting_nothing_is_offered(visit: Visit) -> None:
    page = visit("#/documents")
    expect(page.locator(".documents li").first).to_be_visible()
    expect(page.get_by_label("Add files")).to_have_count(0)
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)
