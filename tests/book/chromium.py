"""Drive a headless Chromium through its DevTools pipe, with nothing but the standard library.

Only what the tests of the site need: open a page, run a script in it, hear of requests and of messages on the console.
"""

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Without the last three the browser itself talks to its maker's servers.
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def executable():
    """Return the path of a Chromium, the one in CHROMIUM if that is set; None if there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A running browser with one page open at a time."""

    def __init__(self, path, timeout=30):
        self.timeout = timeout
        self.events, self.buffer, self.last_id, self.tab, self.session = [], b"", 0, None, None
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands_out, commands_in = os.pipe()
        answers_out, answers_in = os.pipe()
        # The browser reads commands from its file 3 and writes answers to its file 4, numbers that may be taken here.
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in (commands_out, answers_in)]
        self.process = subprocess.Popen(
            [path, *OPTIONS, f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=lambda: (os.dup2(theirs[0], 3), os.dup2(theirs[1], 4)),
            close_fds=False,  # Python opens files so that children do not get them, those two excepted
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (commands_out, answers_in, *theirs):
            os.close(end)
        self.commands, self.answers = commands_in, answers_out

    def close(self):
        self.process.terminate()
        self.process.wait(self.timeout)
        os.close(self.commands)
        os.close(self.answers)
        self.profile.cleanup()

    def call(self, method, **parameters):
        """Send one command and return its result."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout
        while (answer := self._message(deadline)).get("id") != self.last_id:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _message(self, deadline):
        """Return the next message of the browser; events are kept."""
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"the browser did not answer within {self.timeout} s")
            chunk = os.read(self.answers, 1 << 16)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self.buffer += chunk
        raw, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(raw)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, address, width=1280, scheme="light"):
        """Open a page in a new tab and wait until it has loaded and its mathematics is set."""
        self.session = None
        tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        if self.tab:
            self.call("Target.closeTarget", targetId=self.tab)
        self.tab = tab
        self.session = self.call("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        self.events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.set_width(width)
        self.call("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete'")
        self.run("window.MathJax && window.MathJax.startup ? window.MathJax.startup.promise.then(() => 1) : 1")

    def set_width(self, width):
        """Give the page another width, in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def run(self, script):
        """Return the value of a JavaScript expression in the page; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", "script failed"))
        return answer["result"].get("value")

    def wait_for(self, condition):
        """Wait until a JavaScript condition holds."""
        deadline = time.monotonic() + self.timeout
        while not self.run(condition):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not true within {self.timeout} s: {condition}")
            time.sleep(0.05)

    def requests(self):
        """Return the addresses that the page has asked for since it was opened."""
        return [
            event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"
        ]

    def errors(self):
        """Return errors and warnings on the console, and exceptions, since the page was opened."""
        found = []
        for event in self.events:
            details = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(details["exceptionDetails"]["exception"].get("description", "exception"))
            elif event["method"] == "Runtime.consoleAPICalled" and details["type"] in {"error", "warning"}:
                found.append(" ".join(str(argument.get("value")) for argument in details["args"]))
            elif event["method"] == "Log.entryAdded" and details["entry"]["level"] in {"error", "warning"}:
                found.append(details["entry"]["text"])
        return found
