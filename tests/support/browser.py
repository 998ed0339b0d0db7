"""Controls a headless Chromium by its DevTools protocol over two pipes. The browser reaches no network."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or ""
AXE = os.environ.get("AXE", "")
"""Path of axe.min.js of axe-core."""
WITHOUT_CHROMIUM = "there is no chromium: apt-get install chromium, or name it in $CHROMIUM"
WITHOUT_AXE = "there is no axe-core: name its axe.min.js in $AXE"
_QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe"),
)
_KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38}


class Browser:
    """One tab. It records its requests and its errors."""

    def __init__(self, profile: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        command = ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "bash", CHROMIUM, *_QUIET]
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._number, self._session = b"", 0, ""
        self.requests: list[str] = []
        self.problems: list[str] = []
        self._events: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._write)  # which ends it
        os.close(self._read)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def call(self, method: str, **parameters: Any) -> Any:
        """Calls a method of the protocol and returns the answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def open(self, page: Path | str) -> None:
        """Opens a page, and waits until the page and its scripts are loaded."""
        self.follow(lambda: self.call("Page.navigate", url=page.as_uri() if isinstance(page, Path) else page))

    def follow(self, step: Callable[[], Any]) -> None:
        """Performs a step that leads to another page, and waits for the page."""
        self._events.clear()
        step()
        while "Page.loadEventFired" not in self._events:
            self._next()

    def evaluate(self, expression: str) -> Any:
        """Evaluates a JavaScript expression, awaits it, and returns its value."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def show(self, width: int, height: int, *, is_dark: bool) -> None:
        """Sets the size of the window and the user's preferred colours."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def press(self, key: str) -> None:
        """Presses and releases a key."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = _KEYS.get(key, ord(key[0].upper()))
        more = {"text": text} if text else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)

    def type(self, text: str) -> None:
        """Types a text at the cursor."""
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path) -> None:
        """Writes an image of the window as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def _next(self) -> dict[str, Any]:
        """Reads the next message. Requests and errors are recorded."""
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 16)
            assert part, "Chromium has ended"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        event, parameters = message.get("method", ""), message.get("params", {})
        self._events.append(event)
        if event == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        if event == "Runtime.exceptionThrown" or (
            event == "Log.entryAdded" and parameters["entry"]["level"] == "error"
        ):
            self.problems.append(json.dumps(parameters))
        return message
