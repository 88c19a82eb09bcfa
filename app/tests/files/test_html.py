"""HTML as Markdown: structure, what is left out, and that no word is lost or doubled."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.documents.part_blocks import read_layout
from langchain_sentence_window.errors import DocumentReadError
from sentence_window.files import load_bytes

PAGES = Path(__file__).parent / "pages"
"""Whole pages, each with the Markdown that is read from it; and pieces of HTML in ``cases.txt``."""


def cases(group: str) -> list[tuple[str, str]]:
    """The pieces of HTML of a group, each with its Markdown if the file has it."""
    pieces = re.split(r"^===== (\w+): .+\n", (PAGES / "cases.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = [piece for name, piece in zip(pieces[::2], pieces[1::2], strict=True) if name == group]
    assert found
    return [
        (html.rstrip("\n"), text.removesuffix("\n"))
        for html, _, text in (each.partition("\n-----\n") for each in found)
    ]


def read(html: str) -> Document:
    """A page; one without text for a page that holds none."""
    try:
        (page,) = load_bytes(html.encode(), "a.html")
    except DocumentReadError as error:
        if re.search("holds no text|is empty", str(error)) is None:
            raise
        return Document("", metadata={"layout": '[""]'})
    return page


def markdown(html: str) -> str:
    return read(html).page_content


def sentences(page: Document, *, with_layout: bool = True) -> list[Document]:
    metadata = {"source": "a.html"} | ({"layout": page.metadata["layout"]} if with_layout else {})
    return SentenceSplitter().split_documents([Document(page_content=page.page_content, metadata=metadata)])


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.html")), ids=lambda path: path.stem)
def test_a_whole_page_is_read_as_recorded_and_its_markdown_alone_splits_alike(path: Path) -> None:
    page = read(path.read_text(encoding="utf-8"))
    expected = f"<!-- {page.metadata['title']} -->\n\n{page.page_content}\n"
    assert expected == path.with_suffix(".md").read_text(encoding="utf-8")
    found = [(each.page_content, each.metadata.get("heading")) for each in sentences(page, with_layout=False)]
    assert found == [(each.page_content, each.metadata.get("heading")) for each in sentences(page)]


@pytest.mark.parametrize(("html", "expected"), [*cases("inline"), *cases("lists"), *cases("tables")])
def test_a_piece_of_html_is_read_as_recorded(html: str, expected: str) -> None:
    assert markdown(html) == expected


def test_headings_are_paths_and_rows_and_items_are_whole() -> None:
    page = read(
        "<h1>Fees</h1><h2>Seats</h2><p>They cost:</p><ul><li>One seat. Monthly.</li><li>Two</li></ul>"
        "<table><tr><th>Hall<th>Month<tr><td>South<td>35</table>"
    )
    found = [(each.page_content, each.metadata.get("kind"), each.metadata["heading"]) for each in sentences(page)]
    assert found == [
        ("# Fees", "heading", "Fees"),
        ("## Seats", "heading", "Fees > Seats"),
        ("They cost:", None, "Fees > Seats"),
        ("- One seat.", "list_item", "Fees > Seats"),
        ("Monthly.", "list_item", "Fees > Seats"),
        ("- Two", "list_item", "Fees > Seats"),
        ("| Hall | Month |\n| --- | --- |", "table_row", "Fees > Seats"),
        ("| South | 35 |", "table_row", "Fees > Seats"),
    ]
    assert [each.metadata.get("lead_in") for each in sentences(page)] == [None, None, None, 2, 2, 2, None, 6]


def test_a_row_that_is_too_long_for_a_sentence_is_paragraphs() -> None:
    head = "<table><tr><td>a<td>b<tr><td>"
    assert markdown(f"{head}{'c' * 1999}<td>d</table>").endswith(f"| --- | --- |\n| {'c' * 1999} | d |")
    assert markdown(f"{head}{'c' * 2000}<td>d</table>").endswith(f"| --- | --- |\n\n{'c' * 2000}\n\nd")


def test_code_keeps_its_lines_and_ends_at_its_own_fence() -> None:
    assert markdown("<pre>\na\n  b <b>c</b><br>d\n</pre>") == "```\na\n  b c\nd\n```"
    assert markdown("<pre>```\nx\n````</pre>") == "`````\n```\nx\n````\n`````"
    assert markdown("<table><tr><td>a<td>b<tr><td>c<td><code>d  e</code></table>").endswith("| c | d e |")


def test_long_code_is_recognized_by_names_around_it_and_by_its_text() -> None:
    words = "pay the fee of the seat and leave\n" * 20
    for around in ("<div class=highlight><pre>{}</pre></div>", "<div class=code><div><pre>{}</pre></div></div>"):
        assert markdown(around.format(words)).startswith("```\npay")
    assert markdown(f"<pre class=programlisting>{words}</pre>").startswith("```\npay")
    columns, calls = "seat   INTEGER\n" * 40, "fee(seat);\n" * 40
    assert markdown(f"<pre>{columns}</pre>").startswith("```\nseat")
    assert markdown(f"<pre>{calls}</pre>").startswith("```\nfee")
    assert markdown(f"<div class=code><div><div><pre>{words}</pre></div></div></div>").startswith("pay")


def test_prose_with_typed_line_breaks_is_not_code() -> None:
    letter = "The fee is due on Monday. It is payable\nby the party that signs first.\n\n" * 8
    assert markdown(f"<pre>{letter}</pre>").split("\n\n") == letter.strip().split("\n\n")
    assert markdown(f"<pre class=highlight>{letter}</pre>").startswith("```\nThe fee")


def test_a_long_heading_is_a_paragraph() -> None:
    assert markdown(f"<h2>{'a' * 293}</h2>") == "## " + "a" * 293
    assert markdown(f"<h2>{'a' * 294}</h2>") == "a" * 294


@pytest.mark.parametrize(("html", "_"), cases("hidden"))
def test_hidden_elements_are_left_out_but_not_the_text_after_them(html: str, _: str) -> None:
    assert "x" not in markdown(f"<p>a</p>{html}b <p>c</p>")
    assert re.findall(r"\w", markdown(f"<p>a</p>{html}b <p>c</p>")) == ["a", "b", "c"]


LINKS = "<a href=/x>x</a> | <a href=/x>x</a> | <a href=/x>x</a>"


@pytest.mark.parametrize(("html", "_"), cases("navigation"))
def test_navigation_is_recognized_by_its_name_and_its_links(html: str, _: str) -> None:
    assert markdown(f"<p>a</p>{html}b <p>c</p>") == "a\n\nb\n\nc"


@pytest.mark.parametrize(("html", "_"), cases("content"))
def test_a_name_alone_doesnt_make_navigation(html: str, _: str) -> None:
    seen = re.sub(r"<[^>]*>", " ", html)
    assert re.findall(r"\w+", markdown(f"<p>a</p>{html}")) == ["a", *re.findall(r"\w+", seen)]


def test_a_page_that_is_nothing_but_a_menu_is_read() -> None:
    assert markdown(f"<body class=menu>{LINKS}</body>") == "x | x | x"


@pytest.mark.parametrize(("html", "_"), cases("boxes"))
def test_the_label_of_a_box_precedes_its_text_and_begins_no_section(html: str, _: str) -> None:
    assert markdown(f"<h2>Files</h2>{html}<p>b") == "## Files\n\nNote: Save it.\n\nb"


def test_the_label_of_a_box_without_a_paragraph_is_a_paragraph() -> None:
    box = "<div class=admonition><p class=admonition-title>Note</p>{}</div><p>b"
    assert markdown(box.format("<ul><li>a</ul>")) == "Note:\n\n- a\n\nb"
    assert markdown(box.format("<pre>a</pre>")) == "Note:\n\n```\na\n```\n\nb"
    assert markdown(box.format("")) == "Note:\n\nb"
    assert markdown("<p class=admonition-title>Note</p>") == "Note:"
    assert markdown(f"<ul><li>a{box.format('<p>c')}</ul>").startswith("- a\n\n  Note: c")


@pytest.mark.parametrize("before", ["<p class=admonition-title>Note</p>", "<h3>Note</h3>", "Note:"])
def test_a_table_next_to_other_content_of_a_box_holds_data(before: str) -> None:
    table = "<table><tr><th>Plan<th>Euros<tr><td>Team<td>9</table>"
    assert markdown(f"<div class='admonition note'>{before}{table}</div>") == (
        "Note:\n\n| Plan | Euros |\n| --- | --- |\n| Team | 9 |"
    )


def test_headings_in_a_box_that_it_doesnt_begin_with_are_headings() -> None:
    assert markdown("<div class=note><p>a<h3>b</h3><p>c</div>") == "a\n\n### b\n\nc"
    assert markdown("<div class=note>a<h3>b</h3><p>c</div>") == "a\n\n### b\n\nc"
    assert markdown("<div class=notes><h3>b</h3><p>c</div>") == "### b\n\nc"


def test_the_main_part_is_read_if_there_is_one() -> None:
    around = "<body><header>Shop</header>{}<footer>Us</footer></body>"
    assert markdown(around.format("<main>a</main>")) == "a"
    assert markdown(around.format("<div role=main>a</div>")) == "a"
    assert markdown(around.format("<article>a</article>")) == "a"
    assert markdown(around.format("<article>a</article><main>b<article>c</article></main>")) == "b\n\nc"
    assert markdown(around.format("<article>a</article><article>b</article>")) == "Shop\n\na\n\nb\n\nUs"
    assert markdown(around.format("<main hidden>x</main>a")) == "Shop\n\na\n\nUs"
    assert markdown(around.format("<main><script>x</script></main>a")) == "Shop\n\na\n\nUs"


PARAGRAPHS = "".join(
    f"<p>In room {number} the chairs are counted each morning, and what is broken is mended.</p>" for number in range(6)
)
"""Running text, without which no boilerplate is removed."""


def rest(html: str) -> str:
    """The Markdown of a page without the paragraphs of running text."""
    return re.sub(r"In room \d[^\n]*\n*", "", markdown(html)).strip()


def test_a_small_main_part_is_not_all_that_is_read() -> None:
    for box in ("<article>Desk: room 4</article>", "<main>Desk: room 4</main>"):
        assert markdown(f"{box}<div><h1>Chairs</h1>{PARAGRAPHS}</div>").startswith(
            "Desk: room 4\n\n# Chairs\n\nIn room 0"
        )
        assert markdown(f"{box}<ul>{'<li>one more line' * 30}</ul>").count("- one more line") == 30
    assert rest(f"<main>{PARAGRAPHS}</main><article>Desk: room 4</article>") == ""


def test_a_main_part_inside_an_unclosed_button_is_read() -> None:
    assert rest(f"<p>a<button><main><h1>Chairs</h1>{PARAGRAPHS}</main>") == "# Chairs"


STORIES = "".join(f"<li><a href=/{number}>Another story of a chair</a>" for number in range(4))


@pytest.mark.parametrize(("html", "_"), cases("boilerplate"))
def test_boilerplate_is_left_out_of_running_text(html: str, _: str) -> None:
    assert rest(f"<div><h1>Chairs</h1>{PARAGRAPHS}</div>{html}") == "# Chairs"


def test_a_copyright_notice_below_all_running_text_is_left_out() -> None:
    assert rest(f"<div><div>{PARAGRAPHS}</div><p>© 2024 Chairs Ltd.</p><p>Room 9</p></div>") == "Room 9"


@pytest.mark.parametrize(("html", "_"), cases("boilerplate"))
def test_a_page_without_running_text_keeps_boilerplate(html: str, _: str) -> None:
    seen = re.findall(r"\w+", re.sub(r"<[^>]*>", " ", html))
    assert re.findall(r"\w+", markdown(f"<h1>Chairs</h1>{html}")) == ["Chairs", *seen]


@pytest.mark.parametrize(("html", "_"), cases("kept"))
def test_a_name_or_links_alone_do_not_make_boilerplate(html: str, _: str) -> None:
    html = html.replace("{PARAGRAPHS}", PARAGRAPHS)
    seen = re.findall(r"\w+", re.sub(r"<[^>]*>", " ", html))
    assert set(seen) <= set(re.findall(r"\w+", markdown(f"<div>{PARAGRAPHS}{html}{PARAGRAPHS}</div>")))


def test_comments_are_text() -> None:
    comments = "<div class=comments><p>The chair in room 3 is broken again.</p><p>Mine, too.</p></div>"
    assert rest(f"<article>{PARAGRAPHS}</article>{comments}") == ""  # outside of the article
    assert rest(f"<div>{PARAGRAPHS}{comments}</div>") == "The chair in room 3 is broken again.\n\nMine, too."


HIDING = (
    ".x{display:none}", "p.x.y { color: red; DISPLAY : none !important }", "#z{visibility:hidden}", ".x{opacity:0.0}",
    ".x{font-size:0px}", ".x{position:absolute;left:-9999px}", ".x{text-indent:-999em}", "body .x{display:none}",
    ".x{display:block}.x{display:none}", "@media screen{.x{display:none}}", "/* .q{ */ .x{display:none}",
    ".x{display:none}@media print{.x{display:block}}", "@import url(a);.a,.x{display:none}",
    ".a{content:'}'}.x{display:none}", ".y{display:block}.x.y{display:none}", ".x{display:none}.q .z{display:block}",
)  # fmt: skip
SHOWING = (
    ".x{opacity:0;transition:all 1s}", "div .x{display:none}", ".x{display:none}.x.open{display:block}",
    ".open .x{display:block}.x{display:none}", ".x{display:none}.x{display:block}", "@media print{.x{display:none}}",
    "@media (max-width:9em){.x{display:none}}", ".x{display:none}@media (min-width:9em){.x{display:block}}",
    ".x:hover{display:none}", ".x::before{display:none}", ".x{display:none}.x:target{display:block}", ".x{display:none",
    ".x{font-size:0.9em}", ".x{opacity:.5}", ".x{fill-opacity:0}", ".x{left:-9999px}", ".w{display:none}", "}{,.x}",
)  # fmt: skip


@pytest.mark.parametrize("sheet", [*HIDING, *SHOWING])
def test_a_style_sheet_in_the_page_hides_by_class_or_id(sheet: str) -> None:
    page = f"<style>{sheet}</style><body><p>a<p class='x y' id=z>b<p>c"
    assert markdown(page) == ("a\n\nc" if sheet in HIDING else "a\n\nb\n\nc")
    assert markdown(page.replace("<style>", "<style media=print>")) == "a\n\nb\n\nc"


def test_a_style_of_its_own_goes_before_a_sheet() -> None:
    assert markdown("<style>.x{display:none}</style><p class=x style='display:block'>a") == "a"


@pytest.mark.parametrize(
    "style",
    ["opacity:0", "font-size: 0", "position:fixed; top:-9999px", "text-indent:-9999px", "visibility:hidden;color:red"],
)
def test_an_own_style_hides(style: str) -> None:
    assert markdown(f"<p>a<p style='{style}'>b<p>c") == "a\n\nc"


def test_text_for_screen_readers_is_left_out_except_for_words_in_a_line() -> None:
    assert markdown("<a class='x sr-only' href='#c'>Skip</a><p>1<span class=sr-only>:</span> a") == "1: a"


def test_text_that_a_script_will_show_is_content() -> None:
    slides = "".join(f"<div class=slide>{PARAGRAPHS}</div>" for _ in range(3))
    assert markdown(f"<style>.slide{{display:none}}</style><h1>Chairs</h1>{slides}").count("In room 5") == 3
    faded = PARAGRAPHS.replace("<p>", "<p style='opacity:0'>")
    assert markdown(faded * 3).count("In room 5") == 3
    assert markdown(f"<p>a</p>{faded}") == "a"


def test_a_font_size_of_zero_hides_no_blocks_with_another_size() -> None:
    assert markdown("<div style='font-size:0'><p style='font-size:1em'>a</p> </div>") == "a"
    assert markdown("<div style='font-size:0'><div class=column>a</div></div>") == "a"
    assert markdown("<div style='font-size:0'><p>a</p></div>b") == "b"


def test_preformatted_prose_may_begin_with_a_blank_line() -> None:
    prose = "The chair is counted each morning and mended when it broke, as all know. " * 6
    assert markdown(f"<pre>   \n{prose}\n \n{prose}</pre>") == f"{prose.strip()}\n\n{prose.strip()}"


def test_links_in_links_take_linear_time() -> None:
    """So that links in links, each of which has the text of all, take time by their length."""
    marked = "<h1>a<a href='#x'>{}¶{}</a></h1>"
    assert markdown(marked.format("<b>" * 3, "</b>" * 3)) == "# a"
    assert markdown(marked.format("<b>" * 400, "</b>" * 400)) == "# a¶"
    assert markdown("<a href='#x'><b>" * 400 + "text" + "</b></a>" * 400) == "**text**"


def test_the_title_is_one_line_of_printable_text() -> None:
    assert read("<title> Fees\n &amp; more\u202e </title><p>a").metadata["title"] == "Fees & more"
    assert "title" not in read("<svg><title>x</title></svg><p>a").metadata
    assert len(read(f"<title>{'x' * 5000}</title><p>a").metadata["title"]) == 1000


def test_xhtml_with_a_declaration_is_read() -> None:
    page = (
        '<?xml version="1.0" encoding="iso-8859-1"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><p>Ü</p>'
    )
    assert markdown(page) == "Ü"


# Any page

WORD = st.integers(0, 9999).map(lambda number: f"w{number}")
Tree = tuple[str, list[str]]
"""HTML, and the words that are seen in it."""


def wrapped(tag: str, inner: Tree, ends: bool = True) -> Tree:
    return f"<{tag}>{inner[0]}" + (f"</{tag.split(maxsplit=1)[0]}>" if ends else ""), inner[1]


def joined(parts: list[Tree]) -> Tree:
    return "".join(html for html, _ in parts), [word for _, words in parts for word in words]


def hidden(tag: str, inner: Tree) -> Tree:
    return f"<{tag} hidden>{inner[0]}</{tag}>", []


TEXT = st.lists(WORD, max_size=3).map(lambda words: (" " + " ".join(words) + " ", words))
INLINES = st.sampled_from(["b", "em", "a href=x", "code", "span", "strong", "u", "sub", "q", "font"])
BLOCKS = st.sampled_from(["div", "p", "h1", "h3", "blockquote", "section", "pre", "center", "figure", "details"])


def grown(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    several = st.lists(inner, max_size=3).map(joined)
    items = st.lists(several.map(lambda tree: wrapped("li", tree)), max_size=3).map(joined)
    cells = st.lists(st.builds(wrapped, st.sampled_from(["td", "th"]), several, st.booleans()), max_size=3).map(joined)
    rows = st.lists(cells.map(lambda tree: wrapped("tr", tree)), max_size=3).map(joined)
    terms = st.lists(st.builds(wrapped, st.sampled_from(["dt", "dd"]), several, st.booleans()), max_size=3).map(joined)
    return st.one_of(
        several,
        st.builds(wrapped, st.one_of(INLINES, BLOCKS), several),
        st.builds(wrapped, st.sampled_from(["ul", "ol start=3"]), items),
        st.builds(wrapped, st.sampled_from(["table", "table border=1"]), rows),
        st.builds(wrapped, st.just("dl"), terms),
        st.builds(hidden, st.sampled_from(["div", "section", "figure"]), several),
        st.builds(hidden, st.sampled_from(["ul", "ol", "menu"]), st.just(("<li>w1</li>", []))),
        several.map(lambda tree: (tree[0] + "<br><hr><img alt=w1>", tree[1])),
    )


@given(st.recursive(TEXT, grown, max_leaves=25))
def test_every_visible_word_is_in_the_markdown_once_and_in_order(tree: Tree) -> None:
    html, words = tree
    page = read(f"<html><body>{html}</body></html>")
    assert re.findall(r"w\d+", page.page_content) == words
    blocks, _ = read_layout(page.metadata["layout"], len(page.page_content)) or ([], "")
    assert all(page.page_content[block.start : block.end].strip() for block in blocks)
    found = [word for each in sentences(page) for word in re.findall(r"w\d+", each.page_content)]
    assert found == words


@given(st.text(alphabet="<>/=\"'! -&;abpuliotdrhscx#1\n", max_size=200))
def test_any_text_is_read_as_a_page(text: str) -> None:
    page = read(text)
    found = sentences(page) if page.page_content else []
    assert "".join("".join(each.page_content for each in found).split()) == "".join(page.page_content.split())


# Much


@pytest.mark.parametrize("unit", ["<b>", "<div>x", "<ul><li>x", "<table><tr><td>x", "<span><p>x"])
def test_tags_nested_without_end_are_refused(unit: str) -> None:
    with pytest.raises(DocumentReadError, match=r"^a\.html nests its tags too deep, so it is damaged; save it again"):
        read(unit * 100_000)


def test_tags_nested_a_thousand_deep_are_read() -> None:
    assert markdown("<div>" * 1000 + "x" + "</div>" * 1000) == "x"


def test_lists_nested_very_deep_are_no_longer_than_their_text() -> None:
    text = markdown("<ul><li>" * 500 + "<p>word</p>" * 1_000)
    assert text.count("word") == 1_000
    assert len(text) < 100_000


def test_very_many_tags_and_attributes_are_refused() -> None:
    with pytest.raises(DocumentReadError, match=r"^a\.html has more than 2,000,000 tags; split it"):
        read("<p>" * 2_000_001)
    for value in ("=c", "", '=">"', "='\">'"):
        many = "<a" + "".join(f" b{number}{value}" for number in range(5_000)) + ">x"
        with pytest.raises(DocumentReadError, match=r"^a\.html has a tag with more than 1,000 attributes"):
            read(f'<!-- <a "> --><script>a<b="</script>{many}')
    inside = " ".join(f"w{number}" for number in range(5_000))
    assert markdown(f"<a title='{inside}' href=\"data:,{'a/b' * 5_000}\">x</a><script>{inside}</script>") == "x"


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["<!--", "<a b=", "<a '", '<a b="', "</", "<?", "<![CDATA[", "&", "<p>x", "<li>x", "x<br>", "<td>x"]
)
def test_a_hundred_thousand_characters_of_anything_are_read_at_once(unit: str) -> None:
    with suppress(DocumentReadError):
        read(unit * (100_000 // len(unit)))
