"""The picture that previews of links to the page show: `python docs/shoot_page.py` (needs Chromium and `.[dev]`)."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from gridsum.page.site import WEB, site

# Previews are seen small: the title and the grid, nothing else.
_ONLY_TITLE = """
  .masthead, .lede, .moment, .transport, #ask, .under, .tools { display: none !important; }
  .hero { padding-top: 34px; } h1 { font-size: 50px; margin-bottom: 10px; }
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for name, content in site(()).items():
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_bytes(content)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 630}, reduced_motion="reduce")
        page.goto(f"{Path(folder, 'index.html').as_uri()}#sum=523%2B102%2B9416")
        page.wait_for_function("gridsum.app.hero.atEnd")
        page.add_style_tag(content=_ONLY_TITLE)
        page.wait_for_timeout(200)
        page.screenshot(path=WEB / "preview.png")
        browser.close()


if __name__ == "__main__":
    main()
