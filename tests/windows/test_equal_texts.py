"""Which windows equal others, and that nothing is looked up for those that can't."""

from langchain_sentence_window.windows.assembly import IS_EQUAL, Budget, Equal, Ranked, Texts, assemble
from langchain_sentence_window.windows.completion import Line
from langchain_sentence_window.windows.geometry import Hit, Window

SENTENCES = {
    ("a", 0): "It costs a fee.",
    ("a", 1): "Pay it in May.",
    ("b", 0): "It costs a fee.",
    ("b", 1): "Pay it in June.",
    ("c", 0): "It costs a fee.",
    ("c", 1): "Pay it in May.",
}


def ranked(doc_id: str, first: int, last: int) -> Ranked:
    return Ranked(Window(doc_id, first, last, (Hit(doc_id, first, 0, 2, 0.5),)), is_open=False)


def text(window: Window) -> list[str]:
    return [SENTENCES[window.doc_id, index] for index in range(window.first, window.last + 1)]


def texts(compared: list[tuple[str, str]], known: dict[int, Equal] | None = None) -> Texts:
    def are_equal(one: Window, other: Window) -> bool:
        compared.append((one.doc_id, other.doc_id))
        return text(one) == text(other)

    return Texts(SENTENCES.__getitem__, are_equal, known or {})


def lookup(key: tuple[str, int]) -> Line | None:
    return Line(SENTENCES[key]) if key in SENTENCES else None


BUDGET = Budget(40, lambda window: len(" ".join(text(window))), lambda key: len(SENTENCES[key]))


def test_windows_equal_others_if_all_of_their_text_does() -> None:
    given = [ranked("a", 0, 1), ranked("b", 0, 1), ranked("c", 0, 1)]
    for k in (3, 40):
        compared: list[tuple[str, str]] = []
        found = assemble(given, k, lookup, texts=texts(compared))
        assert [each.window.doc_id for each in found.windows] == ["a", "b"]
        assert found.left_out == {2: IS_EQUAL}
        assert found.equal == {2: Equal(given[2].window, 0)}
        assert compared == [("a", "b"), ("a", "c")]
    assert len(assemble(given, 3, lookup).windows) == 3


def test_an_equal_window_costs_nothing() -> None:
    given = [ranked("a", 0, 1), ranked("c", 0, 1), ranked("b", 1, 1)]
    found = assemble(given, 3, lookup, BUDGET, texts([]))
    assert ([each.ranks for each in found.windows], found.cost) == ([(0,)], 30)
    assert found.left_out == {1: IS_EQUAL, 2: "budget"}


def test_windows_whose_best_sentences_differ_are_not_compared() -> None:
    compared: list[tuple[str, str]] = []
    found = assemble([ranked("a", 0, 1), ranked("b", 1, 1), ranked("c", 1, 1)], 3, lookup, texts=texts(compared))
    assert (len(found.windows), compared) == (3, [])


def test_what_is_inside_a_window_that_is_left_out_is_left_out_too() -> None:
    found = assemble([ranked("a", 0, 1), ranked("c", 0, 1), ranked("c", 1, 1)], 3, lookup, texts=texts([]))
    assert ([each.ranks for each in found.windows], sorted(found.equal)) == ([(0,)], [1, 2])
