"""PostgreSQL's full-text search beside its search by vectors."""

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import BM25Index, SentenceWindowRetriever
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.adapters import postgres as postgres_full_text
from langchain_sentence_window.adapters.postgres import PGVectorStoreAdapter, aenable_full_text, enable_full_text
from langchain_sentence_window.errors import InvalidInputError
from tests.conftest import Invoke
from tests.live_stores import makers
from tests.toys import WordEmbeddings, document

NAMES = [f"town{number}" for number in range(400)]
"""Words that the embedder doesn't know: more of them than a search by vectors finds sentences."""
ASKED = NAMES[3::20]


def by_words(store: Any, query: str, **settings: Any) -> list[tuple[str, float]]:
    found = run(PGVectorStoreAdapter(store).lexical_search(BLOCKING, query, {"k": 10, **settings}))
    assert found is not None
    return [(document.page_content, score) for document, score in found]


@pytest.fixture
def store(words: WordEmbeddings, postgres: Any) -> Any:
    return makers.postgres(words, postgres)


def fill(store: Any, *documents: Document) -> SentenceWindowRetriever:
    retriever = SentenceWindowRetriever(vectorstore=store, names=False)
    retriever.add_documents(list(documents))
    return retriever


@pytest.mark.parametrize("ranking", [None, "default"])
async def test_words_find_what_vectors_cannot_tell_apart(way: Invoke, store: Any, ranking: str | None) -> None:
    # Of different cosines, as words count in standard deviations of them.
    mixed = [("refund " * (1 + number % 7) + "annual " * (number % 5), name) for number, name in enumerate(NAMES)]
    fill(store, *(document(f"A {words}goes to {name}. So it is.", name) for words, name in mixed))
    chosen: dict[str, Any] = {} if ranking else {"ranking": None}
    retriever = SentenceWindowRetriever(vectorstore=store, k=1, lexical_weight=2, names=False, **chosen)

    async def found() -> list[str]:
        asked = [await way(retriever, "invoke", f"Does a refund go to {name}?") for name in ASKED]
        return [window.metadata["doc_id"] for (window,) in asked]

    assert await found() != ASKED
    await aenable_full_text(store)
    assert await found() == ASKED
    await way(retriever, "add_documents", [document("A refund goes to town999.", "new")])
    (window,) = await way(retriever, "invoke", "Which refund goes to town999?")
    assert window.metadata["doc_id"] == "new"
    await way(retriever, "delete", ["new"])
    (window,) = await way(retriever, "invoke", "Which refund goes to town999?")
    assert window.metadata["doc_id"] != "new"


def test_scores_are_those_of_bm25(store: Any) -> None:
    texts = ["red kiwi", "red kiwi kiwi", "red plum plum", "red line that is long and holds nothing else", "red fig"]
    fill(store, *(document(text, f"{number}") for number, text in enumerate(texts)))
    enable_full_text(store, "simple")
    scores = {query: dict(by_words(store, query)) for query in ("red", "kiwi", "red kiwi", "never", "KIWI red never")}
    assert set(scores["red"]) == {*texts}
    assert set(scores["kiwi"]) == {"red kiwi", "red kiwi kiwi"}
    assert scores["kiwi"]["red kiwi kiwi"] > scores["kiwi"]["red kiwi"] > max(scores["red"].values())
    assert min(scores["red"], key=scores["red"].__getitem__) == texts[3]  # it is the longest
    both = {text: score + scores["kiwi"].get(text, 0) for text, score in scores["red"].items()}
    assert scores["red kiwi"] == pytest.approx(both)
    assert scores["KIWI red never"] == scores["red kiwi"]
    assert scores["never"] == {}
    # Of 5 texts 2 hold it, and this one is shorter than the mean of about 17 bytes.
    rarity, length = math.log1p((5 - 2 + 0.5) / (2 + 0.5)), len("red kiwi") / 17
    assert scores["kiwi"]["red kiwi"] == pytest.approx(rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length)), rel=0.05)
    found = by_words(store, "red kiwi")
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert len(by_words(store, "red plum fig", k=2)) == 2


def test_texts_are_not_looked_up_by_common_words(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["A refund.", "The refund.", "This refund.", *(f"Plum and fig {number}." for number in range(6))]
    texts += [f"Seat {number}." for number in range(9)]
    fill(store, *(document(text, text) for text in texts))
    enable_full_text(store, "simple")

    def found() -> set[str]:
        both = run(PGVectorStoreAdapter(store).search_both(BLOCKING, "refund plum fig", {"k": 3}))
        return {document.page_content.split()[0] for document, _, _ in both}

    assert found() == {"A", "The", "This", "Plum"}
    monkeypatch.setattr(postgres_full_text, "MAX_MATCHES", 5)
    assert found() == {"A", "The", "This"}
    assert len(by_words(store, "plum", k=9)) == 6  # the rarest of a question always is


def test_a_filter_binds(store: Any) -> None:
    documents = [
        document(f"A {kind} kiwi.", f"{kind}", tenant=tenant) for kind, tenant in (("red", "a"), ("blue", "b"))
    ]
    retriever = fill(store, *documents)
    enable_full_text(store)
    assert [text for text, _ in by_words(store, "kiwi", filter={"tenant": "a"})] == ["A red kiwi."]
    assert by_words(store, "blue", filter={"tenant": "a"}) == []
    found = retriever.invoke("blue kiwi", k=5, filter={"tenant": "a"})
    assert [window.page_content for window in found] == ["A red kiwi."]


async def test_the_other_driver_does_the_same(words: WordEmbeddings, postgres_url: str) -> None:
    from langchain_postgres import PGEngine

    engine = PGEngine.from_connection_string(postgres_url.replace("asyncpg", "psycopg"))
    store = makers.postgres(words, engine)
    retriever = fill(store, document("A red kiwi.", "a", tenant="a"), document("A blue kiwi.", "b", tenant="b"))
    enable_full_text(store)
    assert [text for text, _ in by_words(store, "red 'kiwi' \\")] == ["A red kiwi.", "A blue kiwi."]
    (window,) = retriever.invoke("blue kiwi", filter={"tenant": "b"})
    assert window.page_content == "A blue kiwi."
    await engine.close()


def test_there_is_one_index_for_a_language_and_the_database_uses_it(store: Any) -> None:
    fill(store, document("A refund is paid."))
    table = makers.table_of(store)

    async def ask(statement: str) -> list[str]:
        async with store._engine._pool.connect() as connection:
            await connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
            return [row[0] for row in await connection.exec_driver_sql(statement)]

    def indexes() -> list[str]:
        statement = f"SELECT indexname FROM pg_indexes WHERE tablename = '{table}' AND indexdef LIKE '%% gin %%'"  # noqa: S608
        found: list[str] = store._engine._run_as_sync(ask(statement.replace("%%", "%")))
        return found

    for _ in range(2):
        enable_full_text(store)
        assert len(indexes()) == 1
    plan = store._engine._run_as_sync(
        ask(f"EXPLAIN SELECT 1 FROM \"{table}\" WHERE to_tsvector('english'::regconfig, \"content\") @@ 'refund'")  # noqa: S608
    )
    assert indexes()[0] in " ".join(plan)
    enable_full_text(store, "simple")
    assert len(indexes()) == 2


@pytest.fixture(scope="module")
def odd(postgres: Any) -> Any:
    store = makers.postgres(WordEmbeddings(), postgres)
    fill(store, document("It's \"quoted\" \\ and & | ! :* <-> 'apt'. Zoë paid 5,00 €."))
    enable_full_text(store, "simple")
    return store


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text() | st.text(alphabet="it's \\:*&|!<->()'\"\0"))
def test_any_text_is_a_question(odd: Any, query: str) -> None:
    for text, score in by_words(odd, query):
        assert text
        assert score > 0


@pytest.mark.parametrize("query", ["it's", "'quoted' \\", "ZOË", "5,00", "apt:* | nothing"])
def test_odd_questions_find_their_words(odd: Any, query: str) -> None:
    assert by_words(odd, query)


def test_an_explanation_tells_ranks_by_words(store: Any) -> None:
    retriever = fill(store, document("A refund is paid. A kiwi is not.", "a"), document("A card.", "b"))
    enable_full_text(store)
    hits = {each.text: each.lexical_rank for each in retriever.explain("kiwi").hits}
    assert hits == {"A refund is paid.": None, "A kiwi is not.": 1, "A card.": None}


def test_what_cannot_search_by_words_is_refused(words: WordEmbeddings, store: Any, postgres: Any) -> None:
    from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig

    with pytest.raises(InvalidInputError, match="language is 'klingon'; give a text search .*: .*english"):
        enable_full_text(store, "klingon")
    with pytest.raises(InvalidInputError, match="store is an InMemoryVectorStore; give a PGVectorStore"):
        enable_full_text(InMemoryVectorStore(words))
    with pytest.raises(InvalidInputError, match="has a hybrid search of its own"):
        enable_full_text(makers.postgres(words, postgres, hybrid_search_config=HybridSearchConfig()))
    enable_full_text(store)
    with pytest.raises(InvalidInputError, match="searches by words itself; leave out bm25_index"):
        SentenceWindowRetriever(vectorstore=store, bm25_index=BM25Index())
    retriever = SentenceWindowRetriever(vectorstore=store, search_kwargs={"fts_query": "a"})
    with pytest.raises(InvalidInputError, match="takes only k and filter"):
        retriever.invoke("a")
