"""Look at pages of the site in the system's Chromium, driven by Playwright, as a reader would."""

import os
import shutil

from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TIMEOUT = 300  # seconds; axe needs some for a long page, more on a busy machine


def executable():
    """Return the path of a Chromium, the one in CHROMIUM if that is set; None if there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Visitor:
    """A browser with one page open at a time, and what that page asked for and complained of."""

    def __init__(self, path):
        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(executable_path=path)
        self.context = self.page = None
        self.requests, self.errors = [], []

    def close(self):
        self.browser.close()
        self.playwright.stop()

    def open(self, address, width=1280, scheme="light"):
        """Open an address as a new reader would, and wait until it has loaded and its mathematics is set."""
        if self.context:
            self.context.close()
        self.context = self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.context.set_default_timeout(1000 * TIMEOUT)
        self.page = self.context.new_page()
        self.requests, self.errors = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type in {"error", "warning"} else 0)
        self.page.goto(address)
        self.run("window.MathJax && window.MathJax.startup ? window.MathJax.startup.promise.then(() => 1) : 1")
        return self.page

    def set_width(self, width):
        """Give the page another width, in CSS pixels."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.settle()

    def settle(self):
        """Wait until the page is laid out anew and its scripts have seen that, which takes a frame after a change."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def set_scheme(self, scheme):
        """Let the reader prefer another colour scheme."""
        self.page.emulate_media(color_scheme=scheme)

    def run(self, script):
        """Return the value of a JavaScript expression in the page; a promise is awaited."""
        return self.page.evaluate(script)

    def wait_for(self, condition):
        """Wait until a JavaScript condition holds."""
        self.page.wait_for_function(condition, timeout=30_000)
