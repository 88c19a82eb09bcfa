"""Paths that a server may open."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tests.files.writing import file
from langchain_sentence_window.errors import InvalidInputError
from sentence_window.folders import served_file
from sentence_window.folders.found_files import MAX_PATH_CHARS, is_odd_on_windows

NEEDS_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows, and pipes are others")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    file(tmp_path / "docs" / "a.md", "A refund.")
    file(tmp_path / "docs" / "sub" / "b.pdf", "A seat.")
    file(tmp_path / "docs-private" / "a.md", "A card.")
    file(tmp_path / "secret.md", "A key.")
    return tmp_path / "docs"


def refused(path: object, *roots: object) -> str:
    with pytest.raises(InvalidInputError) as error:
        served_file(path, roots)  # type: ignore[arg-type]
    return str(error.value)


def test_files_in_the_roots_are_served(root: Path) -> None:
    assert served_file(root / "a.md", [root]) == root / "a.md"
    assert served_file(str(root / "sub" / "b.pdf"), [root.parent / "none", str(root)]) == root / "sub" / "b.pdf"
    assert served_file(root / "a.md", [root / "a.md"]) == root / "a.md"
    assert served_file(root / "a.md", [str(root) + os.sep]) == root / "a.md"


OUTSIDE = {
    "another folder": "{root}/../secret.md",
    "a folder whose name begins the same": "{root}-private/a.md",
    "back in again": "{root}/../docs/a.md",
    "below a file": "{root}/a.md/../../secret.md",
    "a folder": "{root}/sub",
    "the root": "{root}",
    "nothing": "{root}/none.md",
    "empty": "",
    "relative": "a.md",
    "relative to a root": "docs/a.md",
    "a home": "~/a.md",
    "an address": "file://{root}/a.md",
    "escapes": "{root}/%2e%2e/secret.md",
    "more escapes": "{root}/..%2fsecret.md",
    "escapes twice": "{root}/%252e%252e%252fsecret.md",
    "bytes too long": "{root}/..%c0%af../secret.md",
    "wide dots": "{root}/．．/secret.md",
    "backslashes": "{root}\\..\\secret.md",
    "a NUL": "{root}/a.md\0.png",
    "a NUL before": "\0{root}/a.md",
    "a lone surrogate": "{root}/\udce9.md",
    "a file of the system": "/etc/passwd",
    "a process": "/proc/self/environ",
    "a device": "/dev/zero",
    "a long path": "{root}/" + "a/" * MAX_PATH_CHARS,
    "many dots": "{root}/" + "../" * 99 + "etc/passwd",
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_all_else_is_refused_and_the_message_doesnt_say_what_there_is(root: Path, name: str) -> None:
    path = OUTSIDE[name].replace("{root}", str(root))
    assert refused(path, root).endswith("isn't a file that is served; ask for one of the files that were given")


def test_without_roots_nothing_is_served(root: Path) -> None:
    assert refused(root / "a.md")
    assert refused(root / "a.md", "")
    assert refused(root / "a.md", "docs")
    assert refused(root / "a.md", root / "a\0")
    assert refused(b"a.md", root)


@NEEDS_POSIX
def test_links_are_resolved_before_they_are_compared(root: Path) -> None:
    (root / "out.md").symlink_to(root.parent / "secret.md")
    (root / "out").symlink_to(root.parent)
    (root / "in.md").symlink_to(root / "a.md")
    (root / "loop.md").symlink_to(root / "loop.md")
    (root / "zero.md").symlink_to("/dev/zero")
    for path in ("out.md", "out/secret.md", "loop.md", "zero.md"):
        assert refused(root / path, root)
    assert served_file(root / "in.md", [root]) == root / "a.md"
    (root.parent / "current").symlink_to(root)
    assert served_file(root.parent / "current" / "a.md", [root.parent / "current"]) == root / "a.md"
    assert served_file(root.parent / "current" / "a.md", [root]) == root / "a.md"


@NEEDS_POSIX
def test_pipes_are_refused_without_being_opened(root: Path) -> None:
    os.mkfifo(root / "pipe.md")
    assert refused(root / "pipe.md", root)


@given(st.text("./\\a~%2ef:\0 -", max_size=30))
def test_no_path_leads_out_of_the_root(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    root = tmp_path_factory.getbasetemp() / "served"
    file(root / "a", "A refund.")
    for given_path in (path, f"{root}/{path}", f"{root}{path}"):
        try:
            found = served_file(given_path, [root])
        except InvalidInputError:
            continue
        assert found == (root / "a").resolve()


ODD = [
    *("C:\\docs\\nul", "C:\\docs\\CON.md", "C:\\docs\\com1.txt", "C:\\docs\\lpt¹.md", "C:\\aux\\a.md", "C:\\nul .md"),
    *("C:\\docs\\a.md:stream", "C:\\docs\\a.md::$DATA", "C:\\docs\\a.md.", "C:\\docs\\a.md ", "C:\\docs \\a.md"),
    *("\\\\server\\share\\a.md", "//server/share/a.md", "\\\\?\\C:\\docs\\a.md", "\\\\.\\PhysicalDrive0"),
]


@pytest.mark.parametrize("path", ODD)
def test_what_windows_reads_as_something_else_is_odd(path: str) -> None:
    assert is_odd_on_windows(path)


@pytest.mark.parametrize(
    "path", ["C:\\docs\\a.md", "C:/docs/sub/b.pdf", "C:\\docs\\console.md", "D:\\a b\\nullable.md"]
)
def test_what_windows_reads_as_it_is_isnt(path: str) -> None:
    assert not is_odd_on_windows(path)
