"""Files of code: comments aren't headings, functions are units, and prose isn't taken for code."""

import sysconfig
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever
from tests.splitting.test_hostile import LINEAR, ONCE, lines_run
from tests.toys import WordEmbeddings

BODY = "".join(f"        room[{number}] = read(path)  # of {number}\n" for number in range(16))
"""Statements of a method, of some 600 characters."""

PYTHON = f'''"""Rooms of the house."""
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
    if path:
{BODY}
    # once
    return json.load(path)

class House:

    # All doors.
    def doors(self):
        def count(room):
            return room.doors
{BODY}
        return map(count, rooms())

    def floors(self):
{BODY}
        # twice
{BODY}
        return 2
print("# ready")
print(2)
'''


def sections(text: str, **metadata: Any) -> list[list[str]]:
    """The units of each section without `BODY`; those that a signature leads in are indented."""
    found: dict[int, list[str]] = {}
    made = SentenceSplitter().split_documents([Document(text, metadata=metadata)])
    for each in made:
        start, lead = each.metadata["section_start"], each.metadata.get("lead_in")
        assert "heading" not in each.metadata
        assert each.metadata["kind"] == "code"
        assert lead is None or made[lead].page_content.startswith(("def ", "class ", "func ", "public ", "build"))
        lines = [line for line in each.page_content.splitlines() if line.strip() and " = read(path)" not in line]
        found.setdefault(start, []).append(("" if lead is None else "  ") + "\n".join(lines))
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
def test_a_function_is_a_unit_with_its_comment_and_decorators(metadata: dict[str, Any]) -> None:
    assert sections(PYTHON, **metadata) == [
        [
            '"""Rooms of the house."""\nimport json',
            "# Read the rooms.\n# None may be missing.\n@cached\ndef rooms(\n    path,  # of the file\n):\n"
            '    """Read rooms.\n    # Not a heading.\n    """\n    if path:\n    # once\n    return json.load(path)',
            "class House:\n    # All doors.\n    def doors(self):\n        def count(room):\n"
            "            return room.doors\n        return map(count, rooms())",
            "def floors(self):",
            "  # twice\n        return 2",
            'print("# ready")\nprint(2)',
        ],
    ]


def test_a_section_ends_before_it_is_long() -> None:
    function = f"def rooms(path):\n    if path:\n{BODY}\n    return path\n\n"
    assert [len(units) for units in sections(function * 14, source="a.py")] == [6, 6, 2]


def test_braces_close_what_they_opened() -> None:
    java = (
        f"package house;\n\nimport a.B;\n\n/** A house. */\npublic class House\n{{\n{BODY}\n\n    // once\n"
        f"    public int doors(int room)\n    {{\n        if (room > 0) {{\n{BODY}        }}\n    }}\n}}\n"
    )
    assert sections(java, source="House.java") == [
        [
            "package house;\nimport a.B;",
            "/** A house. */\npublic class House\n{",
            "// once\n    public int doors(int room)\n    {\n        if (room > 0) {\n        }\n    }\n}",
        ]
    ]
    go = f"package house\n\n# no heading\nfunc Doors(room int) int {{\n{BODY}\n\treturn 1\n}}\n\nvar all = 2\n"
    assert sections(go, source="house.go") == [
        ["package house\n# no heading", "func Doors(room int) int {\n\treturn 1\n}", "var all = 2"]
    ]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a.yaml", "---\n# Doors\ndoors: 2\n\n# Rooms\nrooms: 3\n---\na: 1"),
        ("compose.YML", "# Doors\ndoors: 2"),
        ("pyproject.toml", "# Doors\n[doors]\nfront = 1"),
        ("Makefile", "# Doors\nall:\n\tmake doors"),
        (".env", "# Doors\nDOORS=2"),
        ("a.sql", "-- Doors\nSELECT 1;\n# not this"),
        ("build.sh", "# Doors\nbuild() {\n  # all\n  make\n}\nbuild"),
        ("a.rb", "# Doors\ndef doors\n  2\nend\n\n# Rooms\ndef rooms\n  3\nend"),
    ],
)
def test_short_functions_are_one_unit_with_their_comments(source: str, text: str) -> None:
    ((found,),) = sections(text, source=source)
    assert "".join(found.split()) == "".join(text.split())


GO = "package house\n\nfunc Doors(room int) int {\n\treturn 2\n}\n"
TABLE = "DOORS = {\n    1: ('front', 'wood'),\n    2: ('back', 'steel'),\n}\nROOMS = {\n    1: 'hall',\n}\n"
JSON = '{\n  "doors": [\n    {\n      "a": 1\n    },\n    2\n  ],\n  "b": 3\n}'


def test_the_structure_setting_comes_first() -> None:
    given = Document("# Doors\n\nTwo.", metadata={"source": "a.py"})
    assert SentenceSplitter().split_documents([given])[0].metadata["kind"] == "code"
    assert SentenceSplitter(structure="markdown").split_documents([given])[1].metadata["heading"] == "Doors"


def test_a_window_says_the_signature_of_its_function(words: WordEmbeddings) -> None:
    text = f"def doors(room):\n    if room:\n{BODY}\n    elif path:\n{BODY}\n    return seat\n"
    given = Document(text, metadata={"source": "a.py"})
    retriever = SentenceWindowRetriever.from_documents([given], words)
    (window,) = retriever.invoke("seat", k=1, fetch_k=1, window=0)
    assert window.page_content.endswith("return seat")
    (lead_in,) = window.metadata["lead_ins"]
    assert lead_in["kind"] == "signature"
    assert lead_in["text"].startswith("def doors(room):\n    if room:")


def kinds_of(text: str, **metadata: Any) -> set[str]:
    """The kinds of the units of a text; a comment with ``#`` is a heading in prose."""
    made = SentenceSplitter().split_documents([Document(text, metadata=metadata)])
    return {each.metadata.get("kind", "prose") for each in made}


@pytest.mark.parametrize(
    "source", ["a/b.tsx", "Dockerfile", "a.R", "x.php", "s3://a/b.go", "https://a.b/c/blob/x.py?y=1"]
)
def test_a_suffix_of_code(source: str) -> None:
    assert kinds_of("# Doors\n\nTwo.", source=source) == {"code"}


@pytest.mark.parametrize(
    "source",
    [
        "https://example.py",
        "https://a.b/wiki/Node.js",
        "a.md",
        "a.txt",
        "py",
        "a.json",
        "a.csv",
        "",
        ".py",
        "c",
        "a.py.md",
    ],
)
def test_a_suffix_of_other_files(source: str) -> None:
    assert kinds_of("# Doors\n\nTwo.", source=source) == {"heading", "prose"}


@pytest.mark.parametrize(
    ("is_code", "text"),
    [
        (True, "#!/usr/bin/env python3\n# Doors\nprint(1)"),
        (True, "#!/bin/bash\n# Doors"),
        (True, "# Doors\r\nimport os\r\nimport re\r\n"),
        (True, GO),
        (True, f"/*\n * Doors of a house.\n * - none\n */\n{GO}"),
        (True, "#include <house.h>\n\n// Doors of a house.\nint doors(int room)\n{\n    return 2;\n}"),
        (True, "body {\n  margin: 0;\n}\np {\n  margin: 0;\n}"),
        (False, "module.exports = {\n  doors: {\n    front: 1,\n    back: 2,\n  },\n};\n"),
        (True, f'"""Doors."""\n\n{TABLE}'),
        (True, f"import re\nimport os\n\n{TABLE * 2_000}"),
        (False, JSON),
        (False, f"The house has two doors.\nThey lead into it.\nThis is the code of both.\n\n{GO}"),
        (False, "The party {\nmeans\n}\nthe buyer;\nthe seller of the house\nand whoever buys from them\nand pays"),
        (False, "\\documentclass{article}\n\\title{\nDoors\n}\n\\author{\nRooms\n}"),
        (False, "# Doors\n\nimport os\nimport re\n\nThat was Python."),
        (False, "# Doors\nfront: 1\nback: 2"),
        (False, "import duties\nclass struggle"),
        (False, "#! no path"),
    ],
)
def test_only_a_text_that_is_unmistakable_is_code(is_code: bool, text: str) -> None:
    assert (kinds_of(text) == {"code"}) == is_code


def test_the_standard_library_is_detected_as_code() -> None:
    modules = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("[a-d]*.py"))
    detected = [kinds_of(path.read_text(encoding="utf-8")[:50_000]) == {"code"} for path in modules]
    assert sum(detected) > 0.8 * len(modules) > 20


LINES = [
    "# a",
    "x = 1",
    "def f(",
    "def g(a):",
    "    b",
    '"""',
    "    '''c'''",
    "@d",
    "class E:",
    "}",
    "",
    "  {",
    "/*",
    "*/",
]


@given(
    st.lists(st.sampled_from(LINES), max_size=30),
    st.sampled_from(["py", "java", "rb", "sh", "sql", "lua", "php", "yaml"]),
)
def test_no_code_is_lost(lines: list[str], suffix: str) -> None:
    text = "\n".join(["x = 1", *lines])
    made = SentenceSplitter().split_documents([Document(text, metadata={"source": f"a.{suffix}"})])
    assert "".join("".join(each.page_content.split()) for each in made) == "".join(text.split())
    for index, each in enumerate(made):
        assert each.metadata["section_start"] <= each.metadata.get("lead_in", index) <= index


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
