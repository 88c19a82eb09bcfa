"""Which quotations and claims an answer has, and which sources each of them cites."""

import pytest

from langchain_sentence_window.answering.quotes.answer_quotes import quotes_in


def found_in(answer: str) -> list[tuple[str, str, list[int]]]:
    """Kind, text and cited numbers of what is in an answer; each must stand at its span."""
    found = list[tuple[str, str, list[int]]]()
    for each in quotes_in(answer):
        reading = each.readings[0]
        if "\n" not in reading.text and "[" not in answer[each.start : each.end]:
            assert answer[each.start : each.end] == reading.text
        numbers = [number for cited in reading.cited for first, last in cited.numbers for number in (first, last)]
        found.append((each.kind, reading.text, list(dict.fromkeys(numbers))))
    return found


MARKS = [
    *('"{}"', "“{}”", "„{}“", "„{}”", "”{}”", "«{}»", "« {} »", "«\u00a0{}\u00a0»", "»{}«", "‹{}›", "›{}‹"),
    *("‘{}’", "‚{}‘", "'{}'", "「{}」", "『{}』", "｢{}｣", "〝{}〟", "＂{}＂", "“{} ”"),
    # marks that don't match, and marks as other formats write them
    *(
        '“{}"',
        '"{}”',
        '"{}“',
        '„{}"',
        '”{}"',
        '«{}"',
        "‘{}'",
        "'{}’",
        "‚{}'",
        "``{}''",
        '``{}"',
        "`{}'",
        "`{}’",
        ",,{}''",
        ",,{}“",
        "“{}’’",
    ),
    *(
        "&quot;{}&quot;",
        "&ldquo;{}&rdquo;",
        "&laquo;{}&raquo;",
        "&#34;{}&#34;",
        "&#8220;{}&#x201d;",
        "&#39;{}&#39;",
        '\\"{}\\"',
        "\\'{}\\'",
    ),
]


@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize(
    "text", ["The fee is due", "word", "The owner's fee. It's 5%.", "Ça été dû", "Übung macht müde!"]
)
def test_marks_of_any_language(marks: str, text: str) -> None:
    assert found_in(f"It says {marks.format(text)} [2].") == [("quotation", text, [2])]
    assert found_in(f"({marks.format(text)})[2] Then more.") == [("quotation", text, [2])]


@pytest.mark.parametrize(
    "answer",
    [
        "It's the owners' right and the dogs' toys.",
        "In the '90s, the owners' fees rose.",
        'A 5" pipe and a 6" pipe.',
        '<a href="the fee">it</a>',
        '`print("x")` and\n\n```\n"code"\n```\n',
        "“Unclosed and\n\nmore”",
        "“…” and «?»",
        "м'ята й м'яч",
        "l'été d'hier",
        ">",
    ],
)
def test_no_quotation(answer: str) -> None:
    assert found_in(answer) == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('"a b" [1] and "c d" [2].', [("a b", [1]), ("c d", [2])]),
        ('"a b" and "c d" [2][3].', [("a b", [2, 3]), ("c d", [2, 3])]),
        ('"A b". "C d" [2].', [("A b", []), ("C d", [2])]),
        ('"A b." [1] "C d." [2]', [("A b.", [1]), ("C d.", [2])]),
        ('"A b," he said, "c d" [1, 3].', [("A b,", [1, 3]), ("c d", [1, 3])]),
        ('According to [2], "a b".', [("a b", [2])]),
        ('By [2]. It says "a b".', [("a b", [])]),
        ('"a b" [1]; "c d"', [("a b", [1]), ("c d", [])]),
        ('"a b [1]." More.', [("a b.", [1])]),
        ("“a ‘b c’ d” [1]", [("a ‘b c’ d", [1])]),
        ('“a b" [1] and “c d" [2].', [("a b", [1]), ("c d", [2])]),
        ('“a b" [1] and "c d” [2].', [("a b", [1]), ("c d", [2])]),
        ('“a 5" pipe is b” [1]', [('a 5" pipe is b', [1])]),
        ('“a "b c” d” [1]', [('a "b c', [1])]),
        ("‘the owners' fee’ [1] and ‘c d' [2].", [("the owners' fee", [1]), ("c d", [2])]),
        ("'the owners’ fee' [1] and 'c d’ [2].", [("the owners’ fee", [1]), ("c d", [2])]),
        ("``a b'' [1] and ``c d'' [2].", [("a b", [1]), ("c d", [2])]),
        ("``the owners' fee'' [1].", [("the owners' fee", [1])]),
        ("``x = ''`` [1] and ``a b'' [2].", [("a b", [2])]),
        ('"a \\"b\\" c" [1]', [('a \\"b\\" c', [1])]),
        ("„a ‚b c‘ d“ [1]", [("a ‚b c‘ d", [1])]),
        ('“a "b" c” [1]', [('a "b" c', [1])]),
        ('"unclosed and "a b" [1]', [("a b", [1])]),
        ("他说“a b。”[1] 又说「c d」[2]。", [("a b。", [1]), ("c d", [2])]),
        ('他说"费用"吗[2]？', [("费用", [2])]),
        ('"a b" (see [4], p. 3).', [("a b", [4])]),
        ('"a b"【2】', [("a b", [2])]),
        ("> a b\n> c d [3]\n\nMore [1].", [("a b\nc d", [3])]),
        ("> a b\n\n[3]", [("a b", [3])]),
        ("> “a b”\n> — Terms [3]\n\nMore.", [("a b", [3])]),
        ("As [2] says:\n\n> a b\n\nMore [1].", [("a b", [2])]),
        ("> [!NOTE]\n> a b", [("a b", [])]),
        ('> " a b " [2]', [("a b", [2])]),
        (">> a b\n>> c", [("a b\nc", [])]),
        ("> a\n>\n> b", [("a\n\nb", [])]),
        ("> first [1]\n\nText.\n\n> second [2]", [("first", [1]), ("second", [2])]),
        ('- "a b" [1]\n- "c d"\n', [("a b", [1]), ("c d", [])]),
    ],
)
def test_a_quotation_cites_what_follows_it(answer: str, expected: list[tuple[str, list[int]]]) -> None:
    assert [(text, cited) for kind, text, cited in found_in(answer) if kind == "quotation"] == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("One is here [1]. Two isn't. Three is [2, 3].", [("One is here.", [1]), ("Three is.", [2, 3])]),
        ("One is here. [1] Two is here. [2]", [("One is here.", [1]), ("Two is here.", [2])]),
        ("One is here.[1][2] Two isn't.", [("One is here.", [1, 2])]),
        ("The U.S. [1] and Dr. Who [2] agree.", [("The U.S. and Dr. Who agree.", [1, 2])]),
        ("- **Fee**: it is due [1]\n2. It is high [2]\n", [("**Fee**: it is due", [1]), ("It is high", [2])]),
        ("第一句话[1]。第二句话[2]。", [("第一句话。", [1]), ("第二句话。", [2])]),
        ('It says "a b" [1]. It is due [2].', [("It is due.", [2])]),
        ("As [1] says:\n\n> a b", []),
        ("[1]", []),
        ("See [link](http://a.b) and [2019].", []),
        ("`x[1]` is code.", []),
        ("# Fees [1]\n\nText.", [("Fees", [1])]),
    ],
)
def test_a_sentence_that_cites_and_quotes_nothing_is_a_claim(
    answer: str, expected: list[tuple[str, list[int]]]
) -> None:
    assert [(text, cited) for kind, text, cited in found_in(answer) if kind == "claim"] == expected
