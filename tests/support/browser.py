"""A real browser without a screen: Debian's chromium, driven over its own protocol on a pipe.

A page is waited for until nothing has been fetched for a moment.  What went wrong meanwhile is kept: answers that are
errors, requests that failed, what scripts threw or wrote to the console as errors, and what the page's policy forbade.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

PAGE_TIMEOUT_S = 600
QUIET_S = 0.7
"""So long without a request means that the page is whole."""
STOP_TIMEOUT_S = 10
HEIGHT_PX = 1000
POLICY_WATCH = (
    "addEventListener('securitypolicyviolation', e => console.error(`policy: ${e.effectiveDirective} ${e.blockedURI}`))"
)
"""Put into each page before anything of its own."""
MESSAGE_BYTES_MAX = 64 * 1024 * 1024
FROM_FD, TO_FD = 4, 3
"""Chromium's own numbers: it reads commands from 3 and writes to 4."""
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-sync", "--no-proxy-server"),
    *("--disable-background-networking", "--disable-component-update", "--disable-breakpad"),
    "--window-size=1280,1000",
    "--remote-debugging-pipe",
)


def chromium() -> pathlib.Path:
    """Return the browser that ``make setup`` found."""
    found = pathlib.Path(sys.prefix) / "tools" / "chromium"
    assert found.exists(), "no chromium: run `make setup`"
    return found


@dataclass(slots=True)
class Loaded:
    """Holds what a page loaded; ``statuses`` by URL."""

    statuses: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


class Browser:
    """One tab.  Use it as a context manager."""

    def __init__(self) -> None:
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="yodel-browser-"))
        self._number = 0
        self._buffer = b""
        self._session = ""
        self.loaded = Loaded()
        self._open: dict[str, str] = {}
        """Requests without an end, with the page that made them."""
        self._urls: dict[str, str] = {}
        self._last_request_at = 0.0

    def __enter__(self) -> Self:
        their_in, self._to = _high_pipe()
        self._from, their_out = _high_pipe()

        def arrange() -> None:
            os.dup2(their_in, TO_FD)
            os.dup2(their_out, FROM_FD)

        command = [str(chromium()), *OPTIONS, f"--user-data-dir={self._folder}", "about:blank"]
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "HOME": str(self._folder)},
                pass_fds=(TO_FD, FROM_FD),
                preexec_fn=arrange,
                start_new_session=True,
            )
        os.close(their_in)
        os.close(their_out)
        try:
            target = self._call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Network", "Runtime", "Log"):
                self._call(f"{domain}.enable")
            self._call("Page.addScriptToEvaluateOnNewDocument", source=POLICY_WATCH)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(STOP_TIMEOUT_S)
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._folder, ignore_errors=True)

    def visit(self, url: str, timeout_s: float = PAGE_TIMEOUT_S, quiet_s: float = QUIET_S) -> Loaded:
        """The page with all that it fetches; AssertionError when it does not come to rest."""
        self.loaded = Loaded()
        self._open.clear()
        failure = self._call("Page.navigate", url=url).get("errorText")
        assert not failure, f"{url}: {failure}"
        self._until(lambda: self.evaluate("document.readyState") == "complete", url, timeout_s)
        return self.rest(timeout_s, quiet_s)

    def click(self, selector: str) -> Loaded:
        """Click the first element that matches, and wait for the resulting page."""
        self.loaded = Loaded()
        found = self.evaluate(f"(e => e && (e.click(), true))(document.querySelector({json.dumps(selector)}))")
        assert found, f"nothing to click at {selector}"
        self._last_request_at = time.monotonic()
        return self.rest()

    def rest(self, timeout_s: float = PAGE_TIMEOUT_S, quiet_s: float = QUIET_S) -> Loaded:
        """Until nothing is fetched any more."""

        def is_quiet() -> bool:
            self._read(0.1)
            return not self._open and time.monotonic() - self._last_request_at > quiet_s

        self._until(is_quiet, f"a page at rest; open: {sorted(self._urls.get(i, i) for i in self._open)}", timeout_s)
        self._until(lambda: self.evaluate("document.readyState") == "complete", "a whole page", timeout_s)
        return self.loaded

    def shown(self, selector: str, at_least: int = 1, timeout_s: float = PAGE_TIMEOUT_S) -> list[str]:
        """The texts of all such elements, once there are so many."""
        script = f"Array.from(document.querySelectorAll({json.dumps(selector)}), e => e.innerText.trim())"
        found: list[str] = []

        def probe() -> bool:
            found[:] = self.evaluate(script)
            return len(found) >= at_least

        self._until(probe, f"{at_least} times {selector}", timeout_s)
        return found

    def evaluate(self, script: str) -> Any:
        """A JavaScript expression's value as plain data; AssertionError when it throws."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def seen_as(self, width_px: int, *, is_dark: bool) -> None:
        """Set the window's width, and whether its user prefers dark pages."""
        size = {"width": width_px, "height": HEIGHT_PX, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def lives_in(self, zone: str) -> None:
        """Set the reader's clock from now on to that of a place, such as ``Asia/Kolkata``."""
        self._call("Emulation.setTimezoneOverride", timezoneId=zone)

    def picture(self, path: pathlib.Path) -> None:
        """Write the window's content as PNG."""
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))

    def _until(self, probe: Callable[[], bool], what: str, timeout_s: float) -> None:
        give_up_at = time.monotonic() + timeout_s
        while not probe():
            assert time.monotonic() < give_up_at, f"not within {timeout_s} s: {what}; {self.loaded.faults}"
            self._read(0.1)

    def _call(self, method: str, **arguments: object) -> dict[str, Any]:
        """A command's result; events that come before it are taken note of."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": arguments}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        give_up_at = time.monotonic() + PAGE_TIMEOUT_S
        while time.monotonic() < give_up_at:
            for answer in self._read(1.0, until=self._number):
                if answer.get("id") == self._number:
                    assert "error" not in answer, f"{method}: {answer['error']}"
                    result: dict[str, Any] = answer["result"]
                    return result
            log = (self._folder / "log").read_text(errors="replace")[-2000:]
            assert self._process.poll() is None, f"the browser ended by itself:\n{log}"
        raise AssertionError(f"no answer to {method}")

    def _read(self, timeout_s: float, until: int = 0) -> list[dict[str, Any]]:
        """Messages that are there or come in time; ends early with the answer number ``until``."""
        answers = []
        while select.select([self._from], [], [], timeout_s)[0]:
            part = os.read(self._from, 1024 * 1024)
            if not part:
                break
            self._buffer += part
            assert len(self._buffer) <= MESSAGE_BYTES_MAX
            *whole, self._buffer = self._buffer.split(b"\0")
            for text in whole:
                message = json.loads(text)
                if "id" in message:
                    answers.append(message)
                else:
                    self._note(message["method"], message["params"])
            if any(answer["id"] == until for answer in answers):
                break
            timeout_s = 0
        return answers

    def _note(self, method: str, event: dict[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                self._last_request_at = time.monotonic()
                self._urls[event["requestId"]] = event["request"]["url"]
                if not event["request"]["url"].startswith(("data:", "about:", "blob:")):
                    self._open[event["requestId"]] = event["loaderId"]
            case "Page.frameNavigated" if "parentId" not in event["frame"]:
                # What the page before asked for has no end that is told.
                here = event["frame"]["loaderId"]
                self._open = {request: page for request, page in self._open.items() if page == here}
            case "Network.responseReceived":
                url, status = event["response"]["url"], event["response"]["status"]
                self.loaded.statuses[url] = status
                if status >= 400:
                    self.loaded.faults.append(f"{status} {url}")
            case "Network.loadingFinished":
                self._open.pop(event["requestId"], None)
            case "Network.loadingFailed":
                self._open.pop(event["requestId"], None)
                if not event.get("canceled"):
                    self.loaded.faults.append(f"{event['errorText']} {self._urls.get(event['requestId'])}")
            case "Runtime.exceptionThrown":
                details = event["exceptionDetails"]
                self.loaded.faults.append(f"script: {details.get('exception', {}).get('description', details['text'])}")
            case "Runtime.consoleAPICalled" if event["type"] == "error":
                words = " ".join(str(one.get("value", one.get("description"))) for one in event["args"])
                self.loaded.faults.append(f"console: {words}")
            case "Log.entryAdded" if event["entry"]["level"] == "error":
                self.loaded.faults.append(f"log: {event['entry']['text']} {event['entry'].get('url', '')}")


def _high_pipe() -> tuple[int, int]:
    """A pipe whose ends have numbers that do not meet the browser's."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return high[0], high[1]
