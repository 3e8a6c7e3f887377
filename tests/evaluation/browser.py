"""A page as a browser lays it out."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

#: Opens the page in a frame of a given width, opens everything in it, and writes down what it measured.
_FRAME = """<!DOCTYPE html><meta charset="utf-8"><body style="margin: 0">
<iframe id="frame" src="SOURCE" style="width: WIDTHpx; height: 900px; border: 0"></iframe><pre id="out"></pre>
<script>
document.getElementById("frame").addEventListener("load", () => {
  const frame = document.getElementById("frame");
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
  document.getElementById("out").textContent = JSON.stringify({
    width, scrolled: root.scrollWidth, beyond: beyond.map((e) => e.tagName + " " + text(e)),
    clipped: clipped.map((e) => e.tagName + " " + text(e)), overlapping,
    requests: frame.contentWindow.performance.getEntriesByType("resource").map((e) => e.name),
    hacked: frame.contentWindow.hacked ?? null, scripts: page.scripts.length,
    colors: Object.fromEntries(names.map((name) => [name, style(name)])),
    before, after: order(), sorted: first.querySelector("[aria-sort]")?.ariaSort ?? null,
    focusable: [...page.querySelectorAll("a, button, summary, [tabindex]")].filter((e) => e.tabIndex >= 0).length,
  });
});
</script>"""


def measure(page: Path, width: int, *, dark: bool = False) -> tuple[dict[str, Any], str]:
    """Open a page in a new headless chromium, without a network.

    Returns:
        What was measured of it, and what the browser said of errors in pages.
    """
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed")
    frame = page.parent / f"frame_{width}_{dark}.html"
    frame.write_text(_FRAME.replace("SOURCE", page.name).replace("WIDTH", str(width)), encoding="utf-8")
    command = [
        browser,
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
        *("--no-first-run", "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND"),
        "--allow-file-access-from-files",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        f"--user-data-dir={page.parent / f'profile_{width}_{dark}'}",
        f"--window-size={max(width, 500)},1000",
        *("--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom"),
        frame.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=True)
    found = re.search(r'<pre id="out">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    errors = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    return json.loads(unescape(found[1])), errors
