"""Check that each document's sentences are complete, in order, and where they say."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from langchain_core.documents import Document

from langchain_sentence_window._showing import shown
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.sentence_documents import StoredSentence, read_sentence
from langchain_sentence_window.errors import IncompleteWindowError

_AGAIN = "add the document again"


def sentence_problems(documents: Iterable[Document]) -> Iterator[str]:
    """Yield a problem for each document whose sentences aren't as the splitter writes them.

    Args:
        documents: Sentence Documents, each document's together and by index. Others are passed over.
    """
    of_documents = (each for each in documents if DOC_ID in each.metadata)
    for doc_id, sentences in groupby(of_documents, key=lambda each: each.metadata[DOC_ID]):
        try:
            problem = _problem_of(map(read_sentence, sentences))
        except IncompleteWindowError as error:
            problem = str(error)
        if problem:
            yield f"document {shown(doc_id)}: {problem}"


def _problem_of(sentences: Iterable[StoredSentence]) -> str | None:
    """Return the first problem of a document; ``None`` if there is none."""
    last: StoredSentence | None = None
    for each in sentences:
        expected = 0 if last is None else last.index + 1
        if each.index != expected:
            return f"it lacks {_named(expected, each.index - 1)}; {_AGAIN}"
        if len(each.text) != each.end - each.start:
            return f"sentence {each.index} isn't as long as its place in the source; {_AGAIN}"
        if last is not None and each.start != last.end + len(last.separator):
            return f"sentence {each.index} doesn't begin where sentence {last.index} and its white space end; {_AGAIN}"
        if not _follows(last, each):
            return f"the section of sentence {each.index} isn't that of the sentences before it; {_AGAIN}"
        last = each
    if last is not None and last.section_end > last.index + 1:
        return f"it lacks {_named(last.index + 1, last.section_end - 1)} at its end; {_AGAIN}"
    return None


def _follows(last: StoredSentence | None, each: StoredSentence) -> bool:
    """Return whether a sentence is in the section of the one before it, or begins the next one."""
    if last is None or each.index == last.section_end:
        return each.section_start == each.index
    return (each.section_start, each.section_end) == (last.section_start, last.section_end)


def _named(first: int, last: int) -> str:
    return f"sentence {first}" if first >= last else f"sentences {first} to {last}"
