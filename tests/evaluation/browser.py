"""Measurements of a page as laid out by a browser."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any

from tests.chromium import find_chromium

#: Page that opens others in frames of given widths, expands everything in them, and records the measurements.
_FRAMES = """<!DOCTYPE html><meta charset="utf-8"><body style="margin: 0">
<pre id="out"></pre>
<script>
const asked = FRAMES;
const measured = {};
function measure(frame) {
  const page = frame.contentDocument;
  const shown = (element) => element.checkVisibility({ visibilityProperty: true });
  const text = (element) => element.textContent.trim().slice(0, 40);
  for (const details of page.querySelectorAll("details")) details.open = true;
  const root = page.documentElement;
  const width = root.clientWidth;
  const free = [...page.body.querySelectorAll("*")].filter((e) => shown(e) && !e.closest(".scroll, .skip, .hidden"));
  const beyond = free.filter((e) => e.getBoundingClientRect().right > width + 1 || e.getBoundingClientRect().left < -1);
  const cells = [...page.querySelectorAll("td, th, h1, h2, h3, h4, h5, summary, figcaption, caption span")];
  const clipped = cells.filter((e) => shown(e) && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0);
  const overlapping = [];
  const parents = "body, header, main, section, figure, details, article, .side, .conclusion";
  for (const parent of page.querySelectorAll(parents)) {
    const boxes = [...parent.children].filter((e) => shown(e) && !e.matches(".skip, h3"))
      .map((e) => [e, e.getBoundingClientRect()]).filter(([, box]) => box.height > 0);
    for (let n = 1; n < boxes.length; n++) {
      const [above, below] = [boxes[n - 1], boxes[n]];
      const besides = above[1].right <= below[1].left + 1;
      if (!besides && above[1].bottom > below[1].top + 1) overlapping.push(text(above[0]) + " | " + text(below[0]));
    }
  }
  const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const names = ["--paper", "--panel", "--ink", "--faint", "--link", "--mark", "--warn", "--series-0", "--series-1",
    "--series-2", "--series-3", "--series-4", "--series-5"];
  const first = page.querySelector("table.sortable");
  const order = () => [...first.tBodies[0].rows].map((row) => row.cells[0].querySelector("bdi").textContent);
  const before = order();
  first.querySelectorAll("thead button")[1]?.click();
  const region = page.querySelector(".headline .scroll");
  return {
    hidden: region && region.scrollWidth - region.clientWidth,
    width, scrolled: root.scrollWidth, beyond: beyond.map((e) => e.tagName + " " + text(e)),
    clipped: clipped.map((e) => e.tagName + " " + text(e)), overlapping,
    requests: frame.contentWindow.performance.getEntriesByType("resource").map((e) => e.name),
    hacked: frame.contentWindow.hacked ?? null, scripts: page.scripts.length,
    colors: Object.fromEntries(names.map((name) => [name, style(name)])),
    before, after: order(), sorted: first.querySelector("[aria-sort]")?.ariaSort ?? null,
  };
}
for (const [key, source, width] of asked) {
  const frame = document.createElement("iframe");
  frame.style = `width: ${width}px; height: 900px; border: 0`;
  frame.addEventListener("load", () => {
    measured[key] = measure(frame);
    if (Object.keys(measured).length == asked.length)
      document.getElementById("out").textContent = JSON.stringify(measured);
  });
  frame.src = source;
  document.body.append(frame);
}
</script>"""


def measure(
    pages: Mapping[tuple[str, int], Path], *, dark: bool = False
) -> tuple[dict[tuple[str, int], dict[str, Any]], str]:
    """Open pages in a new headless chromium without a network.

    Args:
        pages: Paths of the pages, by any name and the width of the frame.
        dark: Whether the browser prefers dark colours.

    Returns:
        The measurements of each page, and the errors that the browser reports for all.
    """
    browser = find_chromium()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        done = _open(browser, pages, Path(folder), dark)
    found = re.search(r'<pre id="out">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    measured = json.loads(unescape(found[1]))
    errors = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    return {(name, width): measured[f"{name} {width}"] for name, width in pages}, errors


def _open(
    browser: str, pages: Mapping[tuple[str, int], Path], folder: Path, dark: bool
) -> subprocess.CompletedProcess[str]:
    start = folder / "frames.html"
    frames = [[f"{name} {width}", path.as_uri(), width] for (name, width), path in pages.items()]
    start.write_text(_FRAMES.replace("FRAMES", json.dumps(frames)), encoding="utf-8")
    command = [
        browser,
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
        *("--no-first-run", "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND"),
        "--allow-file-access-from-files",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        f"--user-data-dir={folder / 'profile'}",
        "--window-size=1280,1000",
        *("--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom"),
        start.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=240, check=True)
