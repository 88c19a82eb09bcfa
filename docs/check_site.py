"""Check the built site: it loads nothing from elsewhere, its links lead somewhere, and no reference was left open.

    python docs/check_site.py site

Strict mode doesn't see references to objects that don't exist, or what a theme loads from other servers.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
"""What a browser fetches by itself."""

OPEN_REFERENCE = re.compile(r"\]\[[\w.]*\]|^:::|--8<--|::$", re.M)
"""What is left in the text of a page if a reference, an object or a file wasn't found, or an example isn't code."""

HANDED_ON = re.compile(r"\w+\([^()]*\*given\b")
"""A signature that doesn't say what a function takes."""


class Page(HTMLParser):
    """Hold what a page loads, links to, and says outside of code.

    Attributes:
        loaded: Addresses of what a browser fetches by itself.
        links: Addresses of links.
        anchors: Ids that links can lead to.
        text: What can be read outside of code.
        code: What can be read in code.
    """

    def __init__(self, html: str) -> None:
        """Read a page."""
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.text = self.code = ""
        self._code = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        given = {name: value or "" for name, value in attrs}
        if tag in {"code", "script", "style"}:
            self._code += 1
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and given.get("rel") != "canonical" and given.get(LOADED[tag]):
            self.loaded.append(given[LOADED[tag]])

    def handle_endtag(self, tag: str) -> None:
        """Note the end of an element."""
        if tag in {"code", "script", "style"}:
            self._code -= 1

    def handle_data(self, data: str) -> None:
        """Note text."""
        if self._code:
            self.code += data
        else:
            self.text += data


def faults_of(site: Path) -> list[str]:
    """Find what is wrong with a site, in words."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    faults = [] if pages else [f"{site} holds no pages"]
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        faults += [f"{name} loads {url}" for url in page.loaded if urlsplit(url).netloc]
        faults += [f"{name} has an open reference: {found}" for found in OPEN_REFERENCE.findall(page.text)]
        faults += [f"{name} has a signature that says nothing: {found}" for found in HANDED_ON.findall(page.code)]
        if path.name == "404.html":
            continue  # its links are those of wherever it is shown
        for url in [*page.links, *page.loaded]:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                faults.append(f"{name} links to {url}, which isn't there")
            elif target in pages and parts.fragment and unquote(parts.fragment) not in pages[target].anchors:
                faults.append(f"{name} links to {url}, which has no such place")
    return faults


if __name__ == "__main__":
    found = faults_of(Path(sys.argv[1]))
    for fault in found:
        print(fault, file=sys.stderr)
    if found:
        sys.exit(f"{len(found)} faults")
    print("Nothing is loaded from elsewhere, and every link leads somewhere.")
