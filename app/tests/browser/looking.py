"""See of a page what a test looks at: its mistakes, its accessibility, pictures of it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page, Request, ViewportSize

AXE = (Path(__file__).parent / "axe.min.js").read_text(encoding="utf-8")
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SIZES: list["ViewportSize"] = [
    {"width": 1440, "height": 860},
    {"width": 1024, "height": 768},
    {"width": 390, "height": 844},
]
MESSAGES = ("error", "warning")
"""Kinds of console messages that are mistakes; Chromium reports blocked scripts and failed calls as errors."""


@dataclass
class Seen:
    """Collect what a page did that it shouldn't.

    Attributes:
        servers: The addresses of the servers that it may ask.
        problems: Errors on the console, uncaught errors, dialogs of the browser, requests to other servers.
        requests: The addresses of all its requests.
    """

    servers: set[str]
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    _allowed: list[str] = field(default_factory=list)

    def allow(self, part: str) -> None:
        """Overlook messages and errors that contain a text, such as of calls that a test wants refused."""
        self._allowed.append(part)
        self.problems = [each for each in self.problems if part not in each]

    def note(self, problem: str) -> None:
        if not any(part in problem for part in self._allowed):
            self.problems.append(problem)

    def note_message(self, message: "ConsoleMessage") -> None:
        if message.type in MESSAGES:
            self.note(f"console {message.type}: {message.text} ({message.location.get('url')})")

    def note_request(self, request: "Request") -> None:
        self.requests.append(request.url)
        is_local = request.url.startswith(("data:", "blob:", "about:"))
        if not is_local and not any(request.url.startswith(f"{server}/") for server in self.servers):
            self.note(f"request to another server: {request.url}")

    def note_dialog(self, dialog: "Dialog") -> None:
        self.note(f"dialog: {dialog.message}")
        dialog.dismiss()


@contextmanager
def watched(context: "BrowserContext", seen: Seen) -> Iterator[None]:
    """Note what the pages of a context do, until the block ends; then close it."""
    context.on("console", seen.note_message)
    context.on("weberror", lambda error: seen.note(f"uncaught: {error.error}"))
    context.on("dialog", seen.note_dialog)
    context.on("request", seen.note_request)
    context.set_default_timeout(60_000)
    try:
        yield
    finally:
        context.close()


def axe(page: "Page", *, within: str | None = None) -> list[str]:
    """Return what axe-core finds against WCAG 2.2 AA and good practice: a line for each rule and element.

    Args:
        page: The page.
        within: A CSS selector of the part to look at; ``None`` for all of it.
    """
    _load_axe(page)
    options = {"runOnly": WCAG, "resultTypes": ["violations"]}
    script = "([within, options]) => axe.run(within ?? document, options)"
    found: dict[str, Any] = page.evaluate(script, [within, options])
    return [
        f"{rule['id']} ({rule['help']}): {node['html'][:200]} {node['failureSummary'][:400]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def _load_axe(page: "Page") -> None:
    session = page.context.new_cdp_session(page)  # the page's Content-Security-Policy doesn't bind it
    answer = session.send("Runtime.evaluate", {"expression": f"window.axe || (() => {{ {AXE} }})(); 1"})
    session.detach()
    assert "exceptionDetails" not in answer, answer["exceptionDetails"]


def shot(page: "Page", name: str) -> None:
    """Write a picture of a page into the folder of ``STUDIO_SHOTS``, if that is set."""
    folder = os.environ.get("STUDIO_SHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png")
