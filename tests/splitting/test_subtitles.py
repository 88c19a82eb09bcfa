"""Subtitles are documents of cues: sentences run across cues, and windows say their times."""

import warnings

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_sentence_window import (
    SentenceSplitter,
    SentenceWindowRetriever,
    describe_location,
    format_context,
    merge_windows,
)
from tests.toys import WordEmbeddings

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


def cues(text: str) -> list[tuple[float, float, str, str]]:
    """What each stretch of a cue holds, with its times and its speaker."""
    retriever = SentenceWindowRetriever.from_documents(
        [Document(text, id="a", metadata={"source": "a.srt"})], WordEmbeddings()
    )
    [document] = retriever.get(["a"])
    return [
        (part["cue_start"], part["cue_end"], part.get("speaker", ""), text[part["start_index"] : part["end_index"]])
        for part in document.metadata.get("parts", [])
    ]


def sentences(text: str, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in SentenceSplitter(language).spans(text)]


FOUND = [
    *((1, 4.25, "", each) for each in ("A seat is booked by mail.", "It", "is", "yours", "when the")),
    *((4.25, 8, "", each) for each in ("con", "firm", "ation has come.", "- And then?", "- You pay.")),
    *((3723.5, 3724, "", each) for each in ("Within", "7")),
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
        (1, 4.25, "Anna Roth", "Are you"),
        (1, 4.25, "Ben", "Yes!"),
        (1, 4.25, "Ben", "I am."),
        (4.25, 5, "", "7"),
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
    assert cues(text) == []
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
    assert cues("WEBVTT\n\n" + "\n".join(shown)) == [
        (n, n + 1, "", each) for n in range(4) for each in ("line", f"{n}")
    ]


def test_words_that_are_said_twice_are_kept() -> None:
    text = "".join(f"{n}\n00:0{n}:00,000 --> 00:0{n}:01,000\n{each}\n\n" for n, each in enumerate("abbbbbgh"))
    assert [each for *_, each in cues(text)] == list("abbbbbgh")


TALK = """1
00:01:12,000 --> 00:01:15,500
A card is sent. The seat that

2
00:01:15,500 --> 00:01:19,900
you <i>book</i> is yours. A refund

3
01:00:00,000 --> 01:00:02,000
takes a week.
"""
TEXT = "A card is sent. The seat that you book is yours. A refund takes a week."


def subtitles(text: str = TALK, **metadata: object) -> Document:
    return Document(text, metadata={"source": "talk.srt", "course": "seats", **metadata})


def indexed(documents: list[Document]) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(
        documents, WordEmbeddings(), k=1, fetch_k=1, window=0, lexical_weight=0
    )


def test_windows_name_their_times_and_stand_in_the_file() -> None:
    retriever = indexed([subtitles()])
    [window] = retriever.invoke("seat")
    assert window.page_content == "The seat that you book is yours."
    assert window.metadata["times"] == [72, 79.9]
    assert window.metadata["course"] == "seats"
    assert describe_location(window) == "talk.srt, 00:01:12–00:01:19"
    assert "[1] talk.srt, 00:01:12–00:01:19\n" in format_context([window])
    start = window.metadata["start_index"]
    for part in window.metadata["parts"]:
        low, high = (at - start for at in part["span"])
        assert TALK[part["start_index"] : part["end_index"]] == window.page_content[low:high]
    assert [part["cue_start"] for part in window.metadata["parts"]] == [72, 75.5, 75.5, 75.5]
    [found] = retriever.get(["talk.srt"])
    assert found.page_content == TEXT


def test_times_follow_what_is_joined_and_cut() -> None:
    retriever = indexed([subtitles()])
    [seat], [refund] = retriever.invoke("seat"), retriever.invoke("refund")
    assert describe_location(refund) == "talk.srt, 00:01:15–01:00:02"
    [joined] = merge_windows([seat, refund])
    assert (joined.page_content, joined.metadata["times"]) == (TEXT[16:], [72, 3602])


def test_windows_of_several_sentences_of_a_cue_are_merged() -> None:
    cues = "00:01.000 --> 00:02.000\nA card. A seat. A trial. A page."
    whole = subtitles(f"WEBVTT\n\n{cues}")
    store = indexed([whole]).vectorstore
    retriever = SentenceWindowRetriever(vectorstore=store, k=1, fetch_k=1, window=1, lexical_weight=0)
    windows = [*retriever.invoke("seat"), *retriever.invoke("trial")]
    [merged] = merge_windows(windows)
    assert [each.page_content for each in windows] == ["A card. A seat. A trial.", "A seat. A trial. A page."]
    assert merged.page_content == "A card. A seat. A trial. A page."
    [all_of_it] = retriever.invoke("seat", window=3)
    assert merged.metadata["parts"] == all_of_it.metadata["parts"]


def test_sentences_can_be_filtered_by_time_and_speaker() -> None:
    cues = "00:01.000 --> 00:02.000\n<v Anna>The seat is free\n\n00:03.000 --> 00:04.000\n<v Ben>A seat is booked."
    retriever = indexed([subtitles(f"WEBVTT\n\n{cues}")])
    [window] = retriever.invoke("seat", filter={"speaker": "Ben"})
    assert (window.page_content, window.metadata["speaker"]) == ("A seat is booked.", "Ben")
    [both] = merge_windows([window, *retriever.invoke("seat", filter={"speaker": "Anna"})])
    assert [part["speaker"] for part in both.metadata["parts"]] == ["Anna", "Ben"]
    [window] = retriever.invoke("seat", filter={"cue_start": {"$lt": 2}})
    assert window.page_content == "The seat is free"


@pytest.mark.parametrize("with_offsets", [True, False])
def test_chunks_of_a_file_are_put_together_first(with_offsets: bool) -> None:
    splitter = RecursiveCharacterTextSplitter(chunk_size=60, chunk_overlap=30, add_start_index=with_offsets)
    chunks = splitter.split_documents([subtitles()])
    assert len(chunks) > 2
    cut = SentenceSplitter().split_documents(chunks)
    assert " ".join(each.page_content for each in cut) == TEXT
    assert [each.metadata["cue_start"] for each in cut] == [72, 72, 75.5]
    if with_offsets:
        [window] = indexed(chunks).invoke("seat")
        assert [TALK[each["start_index"] : each["end_index"]] for each in window.metadata["parts"]] == [
            "The seat that",
            "you",
            "book",
            "is yours.",
        ]


def test_cues_of_ones_own_are_joined_in_the_order_of_their_times() -> None:
    said = [("you book is yours.", 75.5, 79.9), ("The seat that", 72, 75.5)]
    cues = [subtitles(text, cue_start=begins, cue_end=ends) for text, begins, ends in said]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        [sentence] = SentenceSplitter().split_documents(cues)
    assert "they came in another order" in str(caught[0].message)
    assert sentence.page_content == "The seat that you book is yours."
    [window] = indexed(cues[::-1]).invoke("seat")
    assert window.metadata["times"] == [72, 79.9]
