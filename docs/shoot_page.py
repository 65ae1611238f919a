"""The pictures of the page: `python docs/shoot_page.py` (needs Chromium and the extra `dev`).

It writes docs/page.png, which the README shows, and the picture that previews of links to the page show.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright

from gridsum.page.site import WEB, site

README: ViewportSize = {"width": 1180, "height": 900}
PREVIEW: ViewportSize = {"width": 1200, "height": 630}
# Previews are seen small: the title and the grid, nothing else.
_ONLY_TITLE = """
  .masthead, .lede, .moment, .transport, #ask, .under, .tools { display: none !important; }
  .hero { padding-top: 34px; } h1 { font-size: 50px; margin-bottom: 10px; }
"""


def main() -> None:
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        raise SystemExit("no Chromium is installed; apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for name, content in site(()).items():
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_bytes(content)
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport=README, reduced_motion="reduce")
        page.goto(f"{Path(folder, 'index.html').as_uri()}#sum=523%2B102%2B9416")
        page.wait_for_function("gridsum.app.hero.atEnd")
        page.screenshot(path=Path(__file__).parent / "page.png")
        page.set_viewport_size(PREVIEW)
        page.add_style_tag(content=_ONLY_TITLE)
        page.wait_for_timeout(200)
        page.screenshot(path=WEB / "preview.png")
        browser.close()


if __name__ == "__main__":
    main()
