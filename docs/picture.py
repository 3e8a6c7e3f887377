"""Takes the picture of the README: a hit in the browser, and the same hit on the page of its PDF.

Run `python docs/picture.py` after the page or the sample course has changed; it needs Playwright and Chromium.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "assets" / "search.png"
QUESTION = "Why did my other shopping list change as well?"
_KINSPLIT = (sys.executable, "-m", "kinsplit")
_WIDTH, _HEIGHT = 1100, 870
_COLOURS = 128  # which the eye doesn't tell from all, in less than half of the bytes


def main() -> None:
    """Index the sample course, serve it, ask and take the picture."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        store = ["--store", f"edge:{folder}/store"]
        subprocess.run([*_KINSPLIT, "index", str(ROOT / "examples" / "course"), *store, "--quiet"], check=True)
        serving = subprocess.Popen([*_KINSPLIT, "serve", *store, "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            address = next(found[0] for line in serving.stdout or () if (found := re.search(r"http://[\w.:]+\d", line)))
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium-headless-shell"))
                size = {"width": _WIDTH, "height": _HEIGHT}
                page = browser.new_page(viewport=size, device_scale_factor=1.2)  # type: ignore[arg-type]
                page.goto(f"{address}/#/search?q={quote(QUESTION)}&top_k=2")
                page.wait_for_selector(".page-picture img")
                page.wait_for_load_state("networkidle")
                page.screenshot(path=PICTURE)
        finally:
            serving.terminate()
            serving.wait()
    Image.open(PICTURE).convert("RGB").quantize(_COLOURS).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
