"""PostgreSQL's full-text search beside its search by vectors."""

import math
import re
from collections import Counter
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
    texts = ["Red kiwi.", "Red kiwi kiwi plum.", "A long red line of words about nothing.", "Plum plum plum.", "Fig."]
    fill(store, *(document(text, f"{number}") for number, text in enumerate(texts)))
    enable_full_text(store, "simple")
    counts = [Counter(re.findall(r"\w+", text.lower())) for text in texts]
    mean = sum(map(len, counts)) / len(counts)

    def score(count: Counter[str], query: str) -> float:
        held = {word: sum(word in each for each in counts) for word in query.lower().split()}
        idf = {word: math.log1p((len(texts) - held[word] + 0.5) / (held[word] + 0.5)) for word in held if held[word]}
        norm = 1.2 * (0.25 + 0.75 * len(count) / mean)
        return sum(idf[word] * 2.2 * count[word] / (count[word] + norm) for word in idf)

    for query in ("red kiwi", "PLUM", "plum fig never", "nothing"):
        expected = {text: score(count, query) for text, count in zip(texts, counts, strict=True)}
        found = by_words(store, query)
        assert dict(found) == {text: pytest.approx(each) for text, each in expected.items() if each}
        assert [each for _, each in found] == sorted((each for _, each in found), reverse=True)
    assert len(by_words(store, "red plum fig", k=2)) == 2


def test_common_words_are_scored_and_not_looked_up(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(
        store,
        *(document(f"A refund number {number}.", f"{number}") for number in range(30)),
        document("A kiwi refund."),
    )
    enable_full_text(store)
    assert len(by_words(store, "kiwi refund", k=40)) == 31
    monkeypatch.setattr(postgres_full_text, "MAX_MATCHES", 10)
    ((text, score),) = by_words(store, "kiwi refund", k=40)
    assert text == "A kiwi refund."
    assert score > by_words(store, "kiwi")[0][1]
    assert len(by_words(store, "refund", k=40)) == 31


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
