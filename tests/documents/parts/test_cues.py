"""Subtitles as documents of cues: windows stand in the cues that they name, and say when they are shown."""

import warnings
from pathlib import Path

import pytest
from langchain_community.document_loaders import TextLoader
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_sentence_window import (
    SentenceSplitter,
    SentenceWindowRetriever,
    describe_location,
    format_context,
    merge_windows,
)
from langchain_sentence_window.documents.window_documents import window_slice
from langchain_sentence_window.loaders import load_file
from tests.toys import WordEmbeddings

SUBRIP = """1
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


def subtitles(text: str = SUBRIP, **metadata: object) -> Document:
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
        assert SUBRIP[part["start_index"] : part["end_index"]] == window.page_content[low:high]
    assert [part["cue_start"] for part in window.metadata["parts"]] == [72, 75.5, 75.5, 75.5]
    [found] = retriever.get(["talk.srt"])
    assert found.page_content == TEXT


def test_times_follow_what_is_joined_and_cut() -> None:
    retriever = indexed([subtitles()])
    [seat], [refund] = retriever.invoke("seat"), retriever.invoke("refund")
    assert describe_location(refund) == "talk.srt, 00:01:15–01:00:02"
    [joined] = merge_windows([seat, refund])
    assert (joined.page_content, joined.metadata["times"]) == (TEXT[16:], [72, 3602])
    cut = window_slice(refund, 9, len(refund.page_content))
    assert (cut.page_content, cut.metadata["times"]) == ("takes a week.", [3600, 3602])
    assert describe_location(window_slice(seat, 0, 8)) == "talk.srt, 00:01:12–00:01:15"


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


@pytest.mark.parametrize("suffix", [".srt", ".vtt"])
def test_files_are_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"talk{suffix}"
    text = SUBRIP if suffix == ".srt" else "WEBVTT\n\n" + SUBRIP.replace(",", ".")
    path.write_text(text, encoding="utf-8-sig")
    [loaded] = load_file(path)
    assert loaded.metadata["content_type"] == {".srt": "application/x-subrip", ".vtt": "text/vtt"}[suffix]
    for document in (loaded, *TextLoader(str(path), encoding="utf-8").load()):
        cut = SentenceSplitter().split_documents([document])
        assert " ".join(each.page_content for each in cut) == TEXT


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
        assert [SUBRIP[each["start_index"] : each["end_index"]] for each in window.metadata["parts"]] == [
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


def test_the_own_metadata_of_a_document_is_renamed() -> None:
    [sentence] = SentenceSplitter().split_documents([Document("A seat.", metadata={"times": "often"})])
    assert sentence.metadata["source_times"] == "often"


@pytest.mark.parametrize("times", [[1], [2, "a"], "ab", [float("nan"), 1], [-1, 2]])
def test_times_that_cannot_be_right_are_not_shown(times: object) -> None:
    document = Document("A seat.", metadata={"source": "a", "start_index": 0, "end_index": 7, "times": times})
    assert describe_location(document) == "a:0-7"
