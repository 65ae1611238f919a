"""The README's picture of the page: `python docs/shoot_page.py docs/page.png` (needs Chromium and the extra `dev`)."""

import shutil
import socket
import sys
import threading
import time
from pathlib import Path

import uvicorn
from playwright.sync_api import ViewportSize, sync_playwright

from gridsum.serve.app import create_app
from gridsum.store import load

VIEW = "#expression=523%2B102%2B9416&step=4&row=0&column=4&head=55"
SIZE: ViewportSize = {"width": 1180, "height": 1340}


def main(path: Path) -> None:
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        raise SystemExit("no Chromium is installed; apt-get install chromium")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(create_app([load("base")]), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.05)
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
                page = browser.new_page(viewport=SIZE)
                page.goto(f"http://127.0.0.1:{listener.getsockname()[1]}/{VIEW}")
                page.wait_for_selector(".plane svg .here")
                page.wait_for_selector(".terms figure")
                page.screenshot(path=path)
                browser.close()
        finally:
            server.should_exit = True
            thread.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
