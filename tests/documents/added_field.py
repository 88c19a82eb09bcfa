"""A field of windows added by a row alone, and what becomes of it: run as a process, as modules read the rows once.

The field is the number of characters of a window.
"""

import json

from langchain_core.documents import BaseDocumentCompressor, Document

from langchain_sentence_window.documents import keys

KEY = "characters"
keys.WINDOW_KEYS |= {KEY}
keys.CONTRACT_KEYS |= {KEY}

from langchain_sentence_window.documents import window_fields  # noqa: E402

window_fields.FIELDS += (
    window_fields.WindowField(
        key=KEY,
        make=lambda new: new.last.end - new.first.start,
        join=lambda joined: joined.end - joined.start,
        cut=lambda cut: cut.span and cut.span[1] - cut.span[0],
        brief=lambda characters: f"{characters} characters",
    ),
)

from langchain_sentence_window import SentenceWindowRetriever, merge_windows, verify_quotes  # noqa: E402
from langchain_sentence_window.apps.studio.queries import card  # noqa: E402
from langchain_sentence_window.documents.window_documents import brief_values, window_slice  # noqa: E402
from tests.toys import WordEmbeddings  # noqa: E402

TEXT = "A card. A seat. A trial. An invoice. A refund. A page."


class Liar(BaseDocumentCompressor):
    """A reranker that writes into the fields of windows."""

    def compress_documents(self, documents, query, callbacks=None):  # type: ignore[no-untyped-def]
        for document in documents:
            document.metadata |= {KEY: 1, "relevance_score": 0.5}
        return documents


def main() -> None:
    """Print the results as JSON."""
    source = Document(page_content=TEXT, id="a", metadata={KEY: "a value of its own"})
    retriever = SentenceWindowRetriever.from_documents([source], WordEmbeddings(), window=1, k=1, lexical_weight=0)
    one, two = retriever.invoke("seat")[0], retriever.invoke("invoice")[0]
    [merged] = merge_windows([one, two])
    part = window_slice(one, 8, 15)
    [trimmed] = retriever.invoke("seat", max_tokens=2)
    [reranked] = SentenceWindowRetriever(
        vectorstore=retriever.vectorstore, reranker=Liar(), window=1, k=1, lexical_weight=0
    ).invoke("seat")
    [quote] = verify_quotes('It says "A seat." [1]', [one])
    made = {
        "invoke": one,
        "merge_windows": merged,
        "slice": part,
        "trimmed": trimmed,
        "reranked": reranked,
        "quoted": quote.places[0].window(),
    }
    found = {name: [each.page_content, each.metadata.get(KEY)] for name, each in made.items()}
    found["source"] = ["", one.metadata[f"source_{KEY}"]]
    found["page"] = ["", card(one, 1)[KEY]]
    found["command"] = ["", brief_values(one)[-1]]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
