"""Find a Chromium for the tests in a browser, or install one where that is possible.

    python tests/browser/chromium.py

It prints where Chromium is, or why there is none; the tests then say the same, and are skipped.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")

_APT = ["apt-get", "install", "--yes", "--no-install-recommends", "chromium"]


def find_chromium() -> str | None:
    """Return the program: the one that ``PLAYWRIGHT_CHROMIUM`` names, the system's, or Playwright's own."""
    named = os.environ.get("PLAYWRIGHT_CHROMIUM")
    if named:
        return named
    return next(filter(None, map(shutil.which, NAMES)), None) or _own()


def _own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if os.path.exists(path) else None  # noqa: PTH110 - a string that may be empty


def install() -> str | None:
    """Install Chromium with the system's packages, or else Playwright's own; return where it is."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(_APT, check=False)
    if find_chromium() is None:
        subprocess.run([sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"], check=False)
    return find_chromium()


if __name__ == "__main__":
    found = find_chromium() or install()
    print(found or "There is no Chromium, and none could be installed; the tests in a browser will be skipped.")
