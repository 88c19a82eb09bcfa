"""Files of code: comments are no headings, functions are sections, and what may be prose isn't taken for code."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.splitting.source_code import (
    code_sections,
    syntax_of_language,
    syntax_of_source,
    syntax_of_text,
)
from tests.splitting.test_hostile import LINEAR, ONCE, lines_run
from tests.toys import WordEmbeddings

PYTHON = '''"""Rooms of the house."""
import json

# Read the rooms.
# None may be missing.
@cached
def rooms(
    path,  # of the file
):
    """Read rooms.

    # Not a heading.
    """
    # once
    return json.load(path)

class House:
    floors = 2

    def doors(self):
        def count(room):
            return room.doors
        return map(count, rooms())
print("# ready")
'''


def sections(text: str, **metadata: Any) -> list[list[str]]:
    """The sentences of each section; those that a signature leads in are indented."""
    found: dict[int, list[str]] = {}
    made = SentenceSplitter().split_documents([Document(text, metadata=metadata)])
    for each in made:
        start, lead = each.metadata["section_start"], each.metadata.get("lead_in")
        assert "heading" not in each.metadata
        assert each.metadata["kind"] == "code"
        assert lead is None or made[lead].page_content.startswith(("def ", "class ", "func ", "public ", "build"))
        found.setdefault(start, []).append(("" if lead is None else "  ") + each.page_content)
    return list(found.values())


@pytest.mark.parametrize(
    "metadata",
    [
        {"source": "src/house.py"},
        {"source": r"C:\src\House.PY"},
        {"source": "https://example.com/blob/main/house.py?raw=1"},
        {"source": "house", "language": "python"},
        {"source": "house", "language": "python", "content_type": "functions_classes"},
        {},
    ],
    ids=repr,
)
def test_a_function_is_a_section_with_what_stands_above_it(metadata: dict[str, Any]) -> None:
    assert sections(PYTHON, **metadata) == [
        ['"""Rooms of the house."""', "import json"],
        [
            "# Read the rooms.\n# None may be missing.",
            "@cached",
            "def rooms(\n    path,  # of the file\n):",
            '  """Read rooms.\n\n    # Not a heading.\n    """',
            "  # once",
            "  return json.load(path)",
        ],
        ["class House:", "  floors = 2"],
        [
            "def doors(self):",
            "  def count(room):",
            "  return room.doors",
            "  return map(count, rooms())",
        ],
        ['print("# ready")'],
    ]


def test_braces_close_what_they_opened() -> None:
    java = (
        "package house;\n\n/** A house. */\npublic class House\n{\n    int floors;\n\n    // once\n"
        "    public int doors(int room)\n    {\n        if (room > 0) {\n            return 1;\n        }\n    }\n}\n"
    )
    assert sections(java, source="House.java") == [
        ["package house;"],
        ["/** A house. */", "public class House", "  {\n    int floors;"],
        [
            "// once",
            "public int doors(int room)",
            "  {\n        if (room > 0) {\n            return 1;\n        }\n    }\n}",
        ],
    ]
    go = "package house\n\n# no heading\nfunc Doors(room int) int {\n\treturn 1\n}\n\nvar all = 2\n"
    assert sections(go, source="house.go") == [
        ["package house", "# no heading"],
        ["func Doors(room int) int {", "  return 1\n}"],
        ["var all = 2"],
    ]


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("a.yaml", "---\n# Doors\ndoors: 2\n\n# Rooms\nrooms: 3\n---\na: 1", 1),
        ("compose.YML", "# Doors\ndoors: 2", 1),
        ("pyproject.toml", "# Doors\n[doors]\nfront = 1", 1),
        ("Makefile", "# Doors\nall:\n\tmake doors", 1),
        (".env", "# Doors\nDOORS=2", 1),
        ("a.sql", "-- Doors\nSELECT 1;\n# not this", 1),
        ("build.sh", "# Doors\nbuild() {\n  # all\n  make\n}\nbuild", 2),
        ("a.rb", "# Doors\ndef doors\n  2\nend\n\n# Rooms\ndef rooms\n  3\nend", 2),
    ],
)
def test_comments_are_no_headings(source: str, text: str, expected: int) -> None:
    found = sections(text, source=source)
    assert len(found) == expected
    assert "".join("".join(each.split()) for section in found for each in section) == "".join(text.split())


@pytest.mark.parametrize(
    ("source", "is_code"),
    [
        *(("a.py", True), ("a/b.tsx", True), ("Dockerfile", True), ("a.R", True), ("https://a.b/x.php?y=1", False)),
        *(
            ("x.php", True),
            ("https://example.py", False),
            ("https://a.b/wiki/Node.js", False),
            ("s3://a/b.go", True),
            ("a.md", False),
            ("a.txt", False),
            ("py", False),
        ),
        *(
            ("a.json", False),
            ("a.csv", False),
            ("a.html", False),
            ("", False),
            (".py", False),
            ("c", False),
            ("a.py.md", False),
        ),
    ],
)
def test_the_suffix_tells_code(source: str, is_code: bool) -> None:
    assert (syntax_of_source(source) is not None) == is_code


def test_only_a_text_that_leaves_no_doubt_is_code() -> None:
    assert syntax_of_text("#!/usr/bin/env python3\n# Doors\nprint(1)") == syntax_of_language("python")
    assert syntax_of_text("#!/bin/bash\n# Doors") == syntax_of_language("shell")
    assert syntax_of_text("# Doors\r\nimport os\r\nimport re\r\n") == syntax_of_language("python")
    for text in (
        "# Doors\n\nimport os\nimport re\n\nThat was Python.",
        "# Doors\n\nThe house has two.",
        "# Doors\nfront: 1\nback: 2",
        "import duties\nclass struggle",
        "# Doors\n\n```python\nimport os\nimport re\n```\n",
        "#! no path",
    ):
        assert syntax_of_text(text) is None, text


def test_what_the_user_says_of_the_structure_comes_first() -> None:
    given = Document("# Doors\n\nTwo.", metadata={"source": "a.py"})
    assert SentenceSplitter().split_documents([given])[0].metadata["kind"] == "code"
    assert SentenceSplitter(structure="markdown").split_documents([given])[1].metadata["heading"] == "Doors"


def test_a_window_says_the_signature_of_its_function(words: WordEmbeddings) -> None:
    text = "def doors(room):\n    x = 1\n\n    return seat\n"
    given = Document(text, metadata={"source": "a.py"})
    retriever = SentenceWindowRetriever.from_documents([given], words)
    (window,) = retriever.invoke("seat", k=1, fetch_k=1, window=0)
    assert window.page_content == "return seat"
    assert window.metadata["lead_ins"] == [
        {"kind": "signature", "text": "def doors(room):", "start_index": 0, "end_index": 16}
    ]


LINES = st.sampled_from(
    ["# a", "x = 1", "def f(", "def g(a):", "    b", '"""', "    '''c'''", "@d", "class E:", "}", "", "  {", "/*", "*/"]
)


@given(st.lists(LINES, max_size=30), st.sampled_from(["python", "java", "ruby", "shell", "sql", "lua", "php", "yaml"]))
def test_code_is_cut_into_sections_and_none_of_it_is_lost(lines: list[str], language: str) -> None:
    text = "\n".join(lines)
    syntax = syntax_of_language(language)
    assert syntax is not None
    found = code_sections(text, syntax)
    blocks = [block for section in found for block in section.blocks]
    assert all(before.end <= after.start for before, after in pairwise(blocks))
    assert "".join("".join(text[b.start : b.end].split()) for b in blocks) == "".join(text.split())
    assert all(section.signature is None or section.signature < len(section.blocks) for section in found)


@pytest.mark.parametrize(
    "unit",
    ["# a\n", "def f(\n", "def f():\n", '"""\n', "/*\n", "/*\n\n", "@a\n", "}\n", "a b(", "a b(\n", "const a=(\n"],
)
@pytest.mark.parametrize("language", ["python", "java"])
def test_work_grows_as_the_code_does(unit: str, language: str) -> None:
    def work(size: int) -> None:
        splitter.split_documents([Document(unit * (size // len(unit)), metadata={"source": "a", "language": language})])

    splitter = SentenceSplitter()
    work(100)
    assert lines_run(lambda: work(4000)) < LINEAR * lines_run(lambda: work(1000)) + ONCE
