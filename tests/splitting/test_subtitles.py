"""Cues of subtitles, and sentences that run across them."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.splitting.subtitles import find_cues, stretches

SUBRIP = """1
00:00:01,000 --> 00:00:04,250
A seat is booked by mail. It
is <i>yours</i> when the

2
00:00:04,250 --> 00:00:08,000
con<b>firm</b>ation has come.
- And then?
- You pay.

3
01:02:03,500 --> 01:02:04,000
{\\an8}Within
7
"""
WEBVTT = """WEBVTT - On seats
Kind: captions

STYLE
::cue { color: red }

NOTE Not shown
--
intro
00:01.000 --> 00:04.250 align:start position:0%
<v Anna Roth>Are you
<v.loud Ben>Yes!</v> I am.

NOTE
Nor this.

7
00:04.250 --> 00:05.000
7
"""


def cues(text: str) -> list[tuple[float, float, str, list[str]]]:
    return [
        (cue.begins, cue.ends, cue.speaker, [text[cue.start + low : cue.start + high] for low, high in spans])
        for cue in find_cues(text)
        for spans in [stretches(text[cue.start : cue.end])]
    ]


def sentences(text: str, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in SentenceSplitter(language).spans(text)]


FOUND = [
    (1, 4.25, "", ["A seat is booked by mail. It", "is", "yours", "when the"]),
    (4.25, 8, "", ["con", "firm", "ation has come.", "- And then?", "- You pay."]),
    (3723.5, 3724, "", ["Within", "7"]),
]


@pytest.mark.parametrize(
    "text",
    [
        SUBRIP,
        "\ufeff\n" + SUBRIP,
        SUBRIP.replace("\n", "\r\n"),
        SUBRIP.replace("\n", "\r"),
        SUBRIP.replace("\n", "\n\n"),
        SUBRIP.replace("\n\n", "\n"),
        SUBRIP.replace("1\n", "", 1),
        SUBRIP.replace(",", ".", 1),
        "WEBVTT\n\n" + SUBRIP,
    ],
)
def test_the_cues_of_subrip_are_found(text: str) -> None:
    assert cues(text) == FOUND


def test_the_cues_of_webvtt_are_found_without_names_and_comments() -> None:
    assert cues(WEBVTT) == [
        (1, 4.25, "Anna Roth", ["Are you"]),
        (1, 4.25, "Ben", ["Yes!", "I am."]),
        (4.25, 5, "", ["7"]),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# Formats\n\n1\n00:00:01,000 --> 00:00:04,250\nA seat",
        "WEBVTT is a format of subtitles:\n\n00:01.000 --> 00:04.250\nA seat",
        "WEBVTT\n\nIt is a format of subtitles.\n\n00:01.000 --> 00:04.250\nA seat",
        "10:00 --> Hall A\n11:00 --> Hall B",
        "1\n\nThe term --> the end.",
        "WEBVTT\n\nNOTE\nNothing is shown.",
    ],
)
def test_other_texts_hold_no_cues(text: str) -> None:
    assert find_cues(text) == []
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


def test_a_sentence_runs_across_cues_and_holds_what_is_between() -> None:
    assert sentences(SUBRIP) == [
        "A seat is booked by mail.",
        "It\nis <i>yours</i> when the\n\n2\n00:00:04,250 --> 00:00:08,000\ncon<b>firm</b>ation has come.",
        "- And then?",
        "- You pay.",
        "Within\n7",
    ]


def test_lines_of_scripts_without_spaces_are_one_word() -> None:
    text = "00:01.000 --> 00:02.000\n席は一日\n予約で\n\n00:02.000 --> 00:03.000\nきます。次の日は\n\n"
    text += "00:03.000 --> 00:04.000\n空きます。"
    assert [each.count("。") for each in sentences(text, "ja")] == [1, 1]


def test_lines_that_live_captions_repeat_count_once() -> None:
    shown = [
        f"00:0{n}.000 --> 00:0{n}.900\n{f'line {n - 1}' if n else ' '}\nline<00:0{n}.400><c> {n}</c>\n\n"
        f"00:0{n}.900 --> 00:0{n + 1}.000\nline {n}\n \n"
        for n in range(4)
    ]
    assert [(begins, ends, lines) for begins, ends, _, lines in cues("WEBVTT\n\n" + "\n".join(shown))] == [
        (n, n + 1, ["line", f"{n}"]) for n in range(4)
    ]


def test_words_that_are_said_twice_are_kept() -> None:
    text = "".join(f"{n}\n00:0{n}:00,000 --> 00:0{n}:01,000\n{each}\n\n" for n, each in enumerate("abbbbbgh"))
    assert [lines for *_, lines in cues(text)] == [[each] for each in "abbbbbgh"]


WORDS = st.lists(st.sampled_from(["a", "Seat.", "is", "12", "NOTE", "<i>", "booked?", "\n", "席。", "-"]), max_size=9)


@given(st.lists(WORDS, min_size=1, max_size=6), st.booleans())
def test_what_is_shown_is_in_a_sentence(shown: list[list[str]], is_webvtt: bool) -> None:
    payloads = [re.sub(r"[ \n]*\n[ \n]*", "\n", f"x{n} {' '.join(words)}") for n, words in enumerate(shown)]
    text = "WEBVTT\n\n" * is_webvtt
    text += "\n".join(f"{n}\n00:{n:02}:00.000 --> 00:{n:02}:09.000\n{each}\n" for n, each in enumerate(payloads))
    in_cues = [
        (cue.start + low, cue.start + high)
        for cue in find_cues(text)
        for low, high in stretches(text[cue.start : cue.end])
    ]
    assert "".join("".join(text[low:high].split()) for low, high in in_cues) == "".join(
        "".join(each.replace("<i>", "").split()) for each in payloads
    )
    spans = SentenceSplitter().spans(text)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert all(any(low <= at < high for low, high in spans) for span in in_cues for at in span[:1])
    assert all(any(low < at <= high for low, high in spans) for span in in_cues for at in span[1:])
