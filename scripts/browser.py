"""Drives Chromium through its DevTools protocol, and collects what a page does wrong.

Messages go through two pipes (`--remote-debugging-pipe`), each ended by NUL, so no WebSocket library is needed.
"""
import base64
import contextlib
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import urllib.parse

# Some event of the browser arrives within this time, or it hangs. Machines differ in speed, so it is long.
SILENCE = 180
OPTIONS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-sync", "--hide-scrollbars",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
    "--remote-debugging-pipe", "about:blank",
]


class BrowserError(Exception):
    pass


class Browser:
    """A Chromium without windows, with a profile of its own."""

    def __init__(self):
        program = shutil.which("chromium")
        if not program:
            raise SystemExit("error: there is no chromium in PATH; on Debian: apt-get install chromium")
        self.folder = tempfile.mkdtemp(prefix="sluice-browser-")
        here, self._input, self._output, there = self._pipes()

        def take_pipes():
            os.dup2(here, 3)
            os.dup2(there, 4)

        words = [program, f"--user-data-dir={self.folder}", *OPTIONS]
        quiet = subprocess.DEVNULL
        self.child = subprocess.Popen(
            words, stdin=quiet, stdout=quiet, stderr=quiet, close_fds=False, preexec_fn=take_pipes, start_new_session=True
        )
        os.close(here)
        os.close(there)
        self._text, self._number, self._answers, self.tabs = b"", 0, {}, {}

    @staticmethod
    def _pipes():
        """Returns the ends of two pipes; none has the number 3 or 4, which those of the browser get."""
        ends = [*os.pipe(), *os.pipe()]
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
        for end in ends:
            os.close(end)
        return high

    def send(self, method, session=None, **parameters):
        """Sends a command, and returns the number of its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._input, data):]
        return self._number

    def call(self, method, session=None, **parameters):
        number = self.send(method, session, **parameters)
        self.wait(lambda: number in self._answers, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def wait(self, condition, what):
        """Handles messages of the browser until a condition is true. The condition may only change with messages."""
        while not condition():
            self._receive(what)

    def _receive(self, what):
        ready, _, _ = select.select([self._output], [], [], SILENCE)
        data = os.read(self._output, 1 << 20) if ready else b""
        if not data:
            raise BrowserError(f"the browser {'has ended' if ready else 'is silent'}; it waited for: {what}")
        *messages, self._text = (self._text + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
            elif tab := self.tabs.get(message.get("sessionId")):
                tab.handle(message["method"], message["params"])

    def tab(self, home, is_separate=False, is_window=False):
        """Opens a tab; a separate one shares no cookies and no connections with the others. Only one tab of a window
        is visible.
        """
        context = {"browserContextId": self.call("Target.createBrowserContext")["browserContextId"]} if is_separate else {}
        target = self.call("Target.createTarget", url="about:blank", newWindow=is_window or is_separate, **context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = self.tabs[session] = Tab(self, session, target, home)
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            tab.call(f"{domain}.enable")
        return tab

    def end(self):
        with contextlib.suppress(BrowserError, OSError):
            self.call("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(20)
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        for end in (self._input, self._output):
            os.close(end)
        shutil.rmtree(self.folder, ignore_errors=True)


class Tab:
    """A page of the browser.

    - home: the origin that all requests go to; a request to another one is a problem.
    - problems: the texts of errors since the last call of `take_problems`.
    """

    def __init__(self, browser, session, target, home):
        self.browser, self.session, self.target, self.home = browser, session, target, home
        self.problems, self.loads, self.fetched, self.frame, self.requests = [], 0, 0, None, {}
        # Statuses of documents that a check expects, besides those below 400
        self.expected = set()
        self.status = None

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def take_problems(self):
        taken, self.problems = self.problems, []
        return taken

    def handle(self, method, event):
        handler = getattr(self, "_on_" + method.replace(".", "_"), None)
        if handler:
            handler(event)

    def _on_Page_loadEventFired(self, _):
        self.loads += 1

    def _on_Runtime_exceptionThrown(self, event):
        details = event["exceptionDetails"]
        self.problems.append("exception: " + details.get("exception", {}).get("description", details["text"]))

    def _on_Runtime_consoleAPICalled(self, event):
        if event["type"] in ("error", "assert", "warning"):
            words = [str(value.get("value", value.get("description"))) for value in event["args"]]
            self.problems.append(f"console {event['type']}: {' '.join(words)}")

    def _on_Log_entryAdded(self, event):
        entry = event["entry"]
        # A failed request is reported with its status below.
        if entry["level"] in ("error", "warning") and entry["source"] != "network":
            self.problems.append(f"{entry['source']} {entry['level']}: {entry['text']}")

    def _on_Audits_issueAdded(self, event):
        issue = event["issue"]
        details = {key: value for part in issue["details"].values() for key, value in part.items() if isinstance(value, (str, int))}
        self.problems.append(f"{issue['code']}: {json.dumps(details)}")

    def _on_Network_requestWillBeSent(self, event):
        url = event["request"]["url"]
        self.requests[event["requestId"]] = url
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("data", "blob", "about") and f"{parts.scheme}://{parts.netloc}" != self.home:
            self.problems.append(f"request to a foreign host: {url}")

    def _on_Network_responseReceived(self, event):
        status, url = event["response"]["status"], event["response"]["url"]
        if event["type"] == "Fetch":
            self.fetched += 1
        if event["type"] == "Document":
            self.status = status
            if status in self.expected:
                return
        if status >= 400:
            self.problems.append(f"status {status}: {url}")

    def _on_Network_loadingFailed(self, event):
        if not event.get("canceled") and event.get("errorText") != "net::ERR_ABORTED":
            self.problems.append(f"request failed with {event['errorText']}: {self.requests.get(event['requestId'])}")

    # Pages

    def open(self, url):
        """Opens a page, and waits until it is complete."""
        before = self.loads
        answer = self.call("Page.navigate", url=url)
        if answer.get("errorText"):
            raise BrowserError(f"{url}: {answer['errorText']}")
        if "loaderId" in answer:
            self.browser.wait(lambda: self.loads > before, f"the load of {url}")

    def evaluate(self, expression):
        """Returns the value of an expression; waits for it if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def until(self, condition):
        """Waits until a JavaScript condition is true. It is asked again whenever the document changes."""
        self.evaluate(
            f"""new Promise((resolve) => {{
              const look = () => {{ if ({condition}) {{ observer.disconnect(); resolve(true); }} }};
              const observer = new MutationObserver(look);
              observer.observe(document, {{ subtree: true, childList: true, attributes: true, characterData: true }});
              look();
            }})"""
        )

    def click(self, selector, loads=True):
        """Clicks on the middle of an element with the mouse. Waits for the page that follows, if one does."""
        place = self.evaluate(
            f"""(() => {{
              const element = document.querySelector({json.dumps(selector)});
              if (!element) return null;
              element.scrollIntoView({{ block: "center", behavior: "instant" }});
              const box = element.getClientRects()[0];
              return box && [box.left + box.width / 2, box.top + box.height / 2];
            }})()"""
        )
        if not place:
            raise BrowserError(f"there is no {selector} at {self.evaluate('location.href')}")
        before = self.loads
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
        # A pointer that rests on a list stops the updates of the list.
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=0, y=0)
        if loads:
            self.browser.wait(lambda: self.loads > before, f"the page after a click on {selector}")

    def look(self, width=1280, height=900, theme="light"):
        """Sets the size of the window and the theme of the system."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def run_scripts(self, is_on):
        self.call("Emulation.setScriptExecutionDisabled", value=not is_on)

    def picture(self, path):
        """Makes a picture of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
        self.browser.tabs.pop(self.session, None)
