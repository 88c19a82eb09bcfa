"""Data URIs are no text: no sentence and no window holds one, and what only mentions them stays."""

import base64
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever
from tests.forms import Invoke
from tests.toys import PLAIN, WordEmbeddings

PICTURE = base64.b64encode(random.Random(1).randbytes(300)).decode()
URI = f"data:image/png;base64,{PICTURE}"
LINES = "\n".join(PICTURE[at : at + 76] for at in range(0, len(PICTURE), 76))
ENCODED = "%3Csvg%20xmlns=%27http://www.w3.org/2000/svg%27%20d=%27m(1)%27%3E%3C/svg%3E"


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in SentenceSplitter().spans(text)]


FORMS = {
    "an image": (f"Look.\n\n![A plan]({URI})\n\nGo on.", ["Look.", "![A plan]", "Go on."]),
    "an image with a title": (
        f'Look.\n\n![A plan]({URI} "Plan")\n\nGo on.',
        ["Look.", "![A plan]", 'Plan")', "Go on."],
    ),
    "a link": (f"Look at [this plan]({URI}).\n\nGo on.", ["Look at [this plan]", "Go on."]),
    "a tag": (f'Look.\n\n<img src="{URI}" alt="A plan">\n\nGo on.', ["Look.", "Go on."]),
    "a label": (f"Look at ![x][plan].\n\n[plan]: {URI}\n\nGo on.", ["Look at ![x][plan].", "Go on."]),
    "capitals": (f"Look. DATA:IMAGE/PNG;BASE64,{PICTURE} Go on.", ["Look.", "Go on."]),
    "parameters": (f"Look. data:image/png;name=a.png; base64,{PICTURE} Go on.", ["Look.", "Go on."]),
    "CSS": (f"```css\n.key{{background:url({URI})}}\n```\n\nGo on.", ["```css\n.key{background:url", "Go on."]),
    "several lines": (f"Look.\n\ndata:image/png;base64,\n{LINES}\n\nGo on.", ["Look.", "Go on."]),
    "lines of a quote": (f"> Look.\n> data:image/png;base64,{LINES}".replace("\n", "\n> ") + "\n\nGo on.", None),
    "lines before a word": (f"data:image/png;base64,{LINES[: 3 * 77]}Conclusion\n\nGo on.", ["Conclusion", "Go on."]),
    "strings that are added": (f'logo = "data:image/png;base64,{PICTURE[:200]}" +\n  "{PICTURE[200:]}";', ["logo ="]),
    "a URI without base64": (f"Look: ![A plan](data:image/svg+xml,{ENCODED}). Go on.", ["Look: ![A plan]", "Go on."]),
    "output of a notebook": (
        f'{{"data": {{"image/png": "{PICTURE}\\n", "text/plain": ["A plan"]}}}}',
        ['{"data": {', 'text/plain": ["A plan"]}}'],
    ),
    "lines of such output": (f'{{"image/png": [\n  "{PICTURE[:76]}\\n",\n  "{PICTURE[76:]}"\n ]}}', []),
    "a row of a table": (
        f"| plan | hall |\n|---|---|\n| ![]({URI}) | South |\n| ![]({URI}) | North |",
        ["| plan | hall |\n|---|---|", "| South |", "| North |"],
    ),
    "source code": (
        f'import os\n\nLOGO = "{URI}"\n\ndef key(x):\n    return x\n',
        ["import os\n\nLOGO =", "def key(x):\n    return x"],
    ),
    "nothing else": (URI, []),
}


@pytest.mark.parametrize("form", FORMS)
def test_data_uris_are_in_no_sentence(form: str) -> None:
    text, expected = FORMS[form]
    found = sentences(text)
    assert PICTURE[:20] not in "".join(found)
    assert "svg" not in "".join(found)
    assert expected is None or found == expected


@pytest.mark.parametrize(
    "text",
    [
        "The data: we saw it. It was data:text, and no more.",
        "A URI is data:[<media type>][;base64],<data>. It has two parts.",
        "For example, data:text/plain;base64,SGVsbG8sIFdvcmxkIQ== says hello. Try it.",
        "An address such as data:text/html,<p>Hi</p> opens a page. Try it.",
        'if url.startswith("data:image/png;base64,"):\n    show(url)\n',
        'src = "data:image/png;base64," + encoded\n',
        "src = f'data:image/png;base64,{encoded}'\n",
        "The column data:input/output, which is long and has a lot of text in it, stays.",
        f"metadata:image/png;base64,{PICTURE} has another scheme.",
        f"A key in base64 is text: {PICTURE} and so it stays.",
        '{"image/png": "plan.png", "text/plain": "A plan."}',
        "-----BEGIN PUBLIC KEY-----\n" + LINES + "\n-----END PUBLIC KEY-----\n",
    ],
)
def test_text_about_data_uris_is_text(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    "after", ["contract) and more", "contract` and more", "0123456789abcdef0123456789abcdef01234567)"]
)
def test_words_after_data_uris_are_text(after: str) -> None:
    found = sentences(f"See the data (data:image/png;base64,{PICTURE} {after}. It says more.")
    assert found == ["See the data (data:image/png;base64,"[:12], f"{after}.", "It says more."]


def test_a_section_ends_at_a_data_uri() -> None:
    items = f"Take these:\n\n- one\n- ![two]({URI})\n- three\n- four\n\n"
    text = f"# Keys\n\n{items}A text, {'and so on, ' * 30}![x]({URI}), {'and so on, ' * 30}ends.\n"
    found = SentenceSplitter(max_piece_chars=200).split_text(text)
    assert {each.heading for each in found} == {"Keys"}
    assert [(each.section_start, each.section_end, each.lead_in, each.pieces) for each in found] == [
        *[(0, 4, None, None)] * 2,
        *[(0, 4, 1, None)] * 2,
        *[(4, 8, None, None)] * 2,
        *[(4, 8, None, (6, 8))] * 2,
        *[(8, 10, None, (8, 10))] * 2,
    ]


def test_a_picture_in_a_heading_is_not_in_the_path() -> None:
    found = SentenceSplitter().split_text(f"# ![Logo]({URI}) Seats\n\nA card.\n\n## 1\u20442 price\n\nA seat.")
    assert list(dict.fromkeys(each.heading for each in found)) == [
        "![Logo]() Seats",
        "![Logo]() Seats > 1\u20442 price",
    ]


async def test_windows_hold_no_data_uri(words: WordEmbeddings, way: Invoke) -> None:
    text = f"# Fees\n\nA card. A seat.\n\n![A plan]({URI})\n\nA refund. A trial.\n"
    retriever = SentenceWindowRetriever.from_documents([Document(text, id="a")], words, window=9, k=9, **PLAIN)
    for query in ("refund", "seat"):
        for window in await way(retriever, "invoke", query):
            start, end = window.metadata["start_index"], window.metadata["end_index"]
            assert window.page_content == text[start:end]
            assert PICTURE[:20] not in window.page_content
            assert window.metadata["heading"] == "Fees"
    assert not any(PICTURE[:20] in embedded for embedded in words.embedded)
    assert [each.page_content for each in await way(retriever, "get", ["a"])] == [text.strip()]
    assert retriever.check().is_sound


PARTS = st.sampled_from(
    [
        *(URI, f"data:image/png;base64,{LINES}", f"data:image/svg+xml,{ENCODED}"),
        *(f"![A]({URI})", f'<img src="{URI}" alt="A">', f"\n\n[a]: {URI}\n", f'"image/png": "{PICTURE}"', URI[:40]),
        *("A b. ", "C", " ", "\n", "\n\n", "# T\n\n", "- ", "| ", "> ", "```\n", '"', "'", "(", ")", "<", ">", "\\"),
        *("=", ".", "Word\n", "data:", "</svg>", ", and so on", ":\n\n", "==\n"),
    ]
)


@given(st.lists(PARTS, max_size=12).map("".join))
def test_sentences_are_between_data_uris(text: str) -> None:
    found = SentenceSplitter().split_text(text)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert PICTURE not in "".join(text[each.start : each.end] for each in found)
    for index, each in enumerate(found):
        assert each.section_start <= index < each.section_end
        assert each.lead_in is None or each.section_start <= each.lead_in < index
        assert each.pieces is None or each.section_start <= each.pieces[0] <= index < each.pieces[1] <= each.section_end
