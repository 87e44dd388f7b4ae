# SPDX-License-Identifier: BSD-3-Clause
"""A Chromium without a window, driven through its own pipe (the DevTools protocol, messages of JSON
that end with a zero byte); nothing but the standard library.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

ANSWER_S_MAX = 300
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-first-run", "--disable-extensions", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--mute-audio",
    "--remote-debugging-pipe", "--force-color-profile=srgb", "--font-render-hinting=none",
)  # fmt: skip

WIDTHS = (400, 500, 640, 800, 1000, 1200, 1400, 1600, 1920)

# Contrast of WCAG 2.1, of every element that has a text of its own and is seen.
CONTRAST = """(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => { for (; e; e = e.parentElement) {
    const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] === 1) return c; }
    return matchMedia('(prefers-color-scheme: dark)').matches ? [0, 0, 0] : [255, 255, 255]; };
  const low = [];
  for (const e of document.body.querySelectorAll('*')) {
    if (e.closest('svg') && !e.matches('text') || e.matches('script, .track b')) continue;
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !e.getClientRects().length) continue;
    const style = getComputedStyle(e), ink = rgb(e.matches('text') ? style.fill : style.color);
    const [a, b] = [light(ink.slice(0, 3)), light(behind(e).slice(0, 3))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const name = `${e.tagName}.${e.className.baseVal ?? e.className}`;
    if (ratio < 4.5) low.push(`${name} ${ratio.toFixed(2)} ${e.textContent.slice(0, 30)}`);
  }
  return low; })()"""

# What is wider than its place, and hidden or to be scrolled; texts beyond the edge of the page.
CUT = """(() => {
  const found = [], page = document.documentElement.scrollWidth;
  const label = (e) => `${e.tagName} ${e.className}: ${e.textContent.trim().slice(0, 40)}`;
  if (page > innerWidth) found.push(`page ${page}`);
  const boxes = '.grid, .verdict, .track b, figcaption, td, th, .legend, pre, nav, h1, h2, p';
  for (const e of document.querySelectorAll(boxes))
    if (e.getClientRects().length && e.scrollWidth > e.clientWidth + 1
        && getComputedStyle(e).display !== 'inline')
      found.push(`${e.scrollWidth} > ${e.clientWidth} ${label(e)}`);
  for (const e of document.querySelectorAll('.ticks span, .xlabel, .ylabel, td, th')) {
    const box = e.getBoundingClientRect();
    if (box.width && (box.right > innerWidth + 1 || box.left < -1))
      found.push(`${label(e)} from ${box.left} to ${box.right}`);
  }
  for (const e of document.querySelectorAll('.network text:not(.count)')) {
    const own = e.getBBox().width, room = e.parentNode.querySelector('rect').getBBox().width;
    if (own > room) found.push(`${own} > ${room} ${label(e)}`);
  }
  return found; })()"""


class Browser:
    """One browser with one page."""

    def __init__(self) -> None:
        program = next(filter(None, map(shutil.which, PROGRAMS)), None)
        assert program, "no Chromium; scripts/setup test installs it"
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser_read, to_browser_write = os.pipe()
        from_browser_read, from_browser_write = os.pipe()
        # The browser reads file descriptor 3 and writes 4, whatever ours are.
        line = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
        self._process = subprocess.Popen(
            [
                "bash", "-c", line, "bash", str(to_browser_read), str(from_browser_write),
                program, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank",
            ],
            pass_fds=(to_browser_read, from_browser_write),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser_read)
        os.close(from_browser_write)
        self._out, self._in = to_browser_write, from_browser_read
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait(ANSWER_S_MAX)
        self._profile.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command and its answer; what happens meanwhile goes to `events`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        until = time.monotonic() + ANSWER_S_MAX
        while True:
            answer = self._message(until)
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return dict(answer["result"])
            self.events.append(answer)

    def _message(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self._in, 1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        first, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(first))

    def open(self, path: Path, width: int = 1280, dark: bool = False, scripts: bool = True) -> None:
        """Show a file, in a window of this width."""
        self.events.clear()
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.resize(width, dark)
        gone = self.call("Page.navigate", url=path.resolve().as_uri())
        assert "errorText" not in gone, (path, gone["errorText"])
        until = time.monotonic() + ANSWER_S_MAX
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._message(until))

    def resize(self, width: int, dark: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def does(self, script: str) -> Any:
        """The value of an expression on the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions of scripts, and requests for anything but
        the file.
        """
        found = []
        for event in self.events:
            method, about = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(json.dumps(about["exceptionDetails"]))
            elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
                found.append(about["entry"]["text"])
            elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning"):
                found.append(json.dumps(about["args"]))
            elif method == "Network.requestWillBeSent":
                url = about["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    found.append(f"asks for {url}")
        return found

    def mouse(self, kind: str, x: float, y: float) -> None:
        pressed = {"button": "left", "buttons": 1, "clickCount": 1}
        more = pressed if kind != "mouseMoved" or self._held else {}
        self._held = kind == "mousePressed" or (self._held and kind != "mouseReleased")
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    _held = False

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start)
        self.mouse("mouseMoved", *end)
        self.mouse("mouseReleased", *end)

    def picture(self, path: Path, top: int = 0, height: int | None = None) -> None:
        """A PNG of the page, from `top` on."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {
            "x": 0, "y": top, "width": size["width"], "scale": 1,
            "height": min(height or size["height"], size["height"] - top),
        }  # fmt: skip
        answer = self.call(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip
        )
        path.write_bytes(base64.b64decode(answer["data"]))


def schemes_of_a_whole_page(browser: Browser, page: Path) -> Iterator[bool]:
    """Light, then dark: in each nothing is cut at any width, all can be read, nothing complains."""
    for dark in (False, True):
        browser.open(page, WIDTHS[0], dark)
        browser.does("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        for width in WIDTHS:
            browser.resize(width, dark)
            assert browser.does(CUT) == [], (width, dark)
        assert browser.does(CONTRAST) == [], dark
        yield dark
        assert browser.complaints() == []
