"""Which ids a store takes, and how the others are refused."""

from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import InvalidInputError
from tests.forms import Invoke
from tests.toys import WordEmbeddings

WRONG = [
    ("ab", r"documents are named by a list of ids, not 'ab'; write \['id', ...\]"),
    (5, "named by a list of ids, not 5"),
    ([5], "id 0 is 5; documents are named by strings, as add_documents returns them"),
    (["a", b"b"], "id 1 is b'b'; documents are named by strings"),
    ([10**5_000], "id 0 is an int of more than 30 digits"),
]


@pytest.fixture
def store(words: WordEmbeddings) -> FaissStore:
    return FaissStore.from_texts(["refund", "card"], words, ids=["a", "b"])


@pytest.mark.parametrize(("ids", "message"), [*WRONG, ([None], "id 0 is None")])
async def test_anything_but_a_list_of_ids_is_refused(store: FaissStore, way: Invoke, ids: Any, message: str) -> None:
    for method in ("delete", "get_by_ids"):
        with pytest.raises(InvalidInputError, match=message):
            await way(store, method, ids)
    assert len(store) == 2


@pytest.mark.parametrize(("ids", "message"), WRONG)
async def test_documents_are_not_added_under_invalid_ids(
    store: FaissStore, way: Invoke, ids: Any, message: str
) -> None:
    documents = [Document(page_content="page"), Document(page_content="trial")][
        : len(ids) if isinstance(ids, list) else 2
    ]
    with pytest.raises(InvalidInputError, match=message):
        await way(store, "add_documents", documents, ids=ids)
    assert len(store) == 2


async def test_an_id_of_none_is_a_new_one(store: FaissStore, way: Invoke) -> None:
    documents = [Document(page_content="page", id="own"), Document(page_content="trial")]
    first, second = await way(store, "add_documents", documents, ids=[None, "c"])
    assert second == "c"
    assert first not in ("own", "a", "b", "c")
    assert [each.page_content for each in store.get_by_ids([first, "c"])] == ["page", "trial"]


def test_ids_may_come_in_any_collection(store: FaissStore) -> None:
    assert [each.id for each in store.get_by_ids(id_ for id_ in ("a", "b"))] == ["a", "b"]  # type: ignore[arg-type]
    assert [each.id for each in store.get_by_ids(("b", "a", "b"))] == ["b", "a"]
    store.delete({"a"})  # type: ignore[arg-type]
    assert [each.id for each in store.get_by_ids(["a", "b"])] == ["b"]
