"""HTML as Markdown: structure, what is left out, and that no word is lost or doubled."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.documents.part_blocks import write_layout
from langchain_sentence_window.errors import DocumentReadError
from langchain_sentence_window.loaders.files.html_pages import HtmlPage, read_html
from langchain_sentence_window.splitting.blocks import HEADING

PAGES = Path(__file__).parent / "pages"
"""Pages as they are on the web, and beside each the Markdown that is read of it."""


def read(html: str) -> HtmlPage:
    return read_html(html, "a.html")


def markdown(html: str) -> str:
    return read(html).text


def sentences(page: HtmlPage, *, with_layout: bool = True) -> list[Document]:
    metadata = {"source": "a.html"} | ({"layout": write_layout(page.blocks)} if with_layout else {})
    return SentenceSplitter().split_documents([Document(page_content=page.text, metadata=metadata)])


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.html")), ids=lambda path: path.stem)
def test_a_page_reads_as_it_should(path: Path) -> None:
    page = read_html(path.read_text(encoding="utf-8"), path.name)
    assert f"<!-- {page.title} -->\n\n{page.text}\n" == path.with_suffix(".md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.html")), ids=lambda path: path.stem)
def test_the_splitter_finds_the_same_sentences_in_the_markdown_alone(path: Path) -> None:
    page = read_html(path.read_text(encoding="utf-8"), path.name)
    found = [(each.page_content, each.metadata.get("heading")) for each in sentences(page, with_layout=False)]
    assert found == [(each.page_content, each.metadata.get("heading")) for each in sentences(page)]


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


INLINE = {
    "words of links": ('See <a href="/t">our <em>terms</em></a>.', "See our terms."),
    "white space": ("  a\n\t b&nbsp;<b> c</b>d ", "a b cd"),
    "line breaks": ("<p>12 High St<br>Leeds<br/></p>", "12 High St\nLeeds"),
    "two line breaks are a paragraph's end": ("<p>One.<br> <br>Two.</p>", "One.\n\nTwo."),
    "soft hyphens": ("Donau&shy;dampf &#8203;schiff", "Donaudampf schiff"),
    "powers": ("10<sup>6</sup> m<sup>2</sup> 10<sup>&minus;3</sup>", "10^6 m^2 10^−3"),
    "notes and ordinals": ("free<sup><a href='#n'>[1]</a></sup> 1<sup>st</sup>", "free[1] 1st"),
    "bare marks of footnotes": (
        "a<a class=footnote-ref href='#n'>1</a> b<sup><a href='#n'>2</a></sup> <a href='#n'><sup>c</sup></a>",
        "a[1] b[2] [c]",
    ),
    "links that are no footnotes": ("see <a href='#s2'>2</a>, m<sup><a href='/u'>2</a></sup>", "see 2, m2"),
    "quotes": ("He said <q>no</q>.", "He said “no”."),
    "bold words": ("Pay <b>now</b>.", "Pay now."),
    "a bold paragraph": ("<p><strong>Fees</strong> <b>due</b></p><p>Pay.</p>", "**Fees due**\n\nPay."),
    "what is no heading": ("<p># 1 of</p><p>&lt;b> x</p><p>===</p><p>```</p>", "\\# 1 of\n\n\\<b> x\n\n\\===\n\n\\```"),
    "words around a list": ("<div>a<ul><li>b</ul>c</div>", "a\n\n- b\n\nc"),
    "words between": ("<p>a</p> and <p>b</p>", "a\n\nand\n\nb"),
    "no words": ("<p> </p><div></div><ul><li></li></ul><table><tr><td></table><hr>", ""),
    "nothing": ("", ""),
    "what can't be a page": ("<", "<"),
}


@pytest.mark.parametrize("name", INLINE)
def test_inside_a_paragraph(name: str) -> None:
    html, expected = INLINE[name]
    assert markdown(html) == expected


LISTS = {
    "open items": ("<ul><li>a<li>b</ul>", "- a\n- b"),
    "nested": ("<ol><li>a<ul><li>b<ol><li>c</ol></ul><li>d</ol>", "1. a\n   - b\n     1. c\n2. d"),
    "numbers": ("<ol start=9><li>a<li>b<li value=20>c<li>d</ol>", "9. a\n10. b\n20. c\n21. d"),
    "paragraphs": ("<ul><li><p>a</p><p>b</p><li>c</ul>", "- a\n\n  b\n- c"),
    "line breaks": ("<ul><li>a<br>b</ul>", "- a\n  b"),
    "a list that begins an item": ("<ul><li><ol><li>a</ol></ul>", "  1. a"),
    "terms": (
        "<dl><dt>port<dd>A number.<dt>host<dd><p>A name.<p>Or none.</dl>",
        "- port\n  A number.\n- host\n  A name.\n\n  Or none.",
    ),
    "terms alone": ("<dl><dt>a<dt>b<dd>c<dd>d</dl>", "- a\n- b\n  c\n\n  d"),
    "items without a list": ("<li>a</li><li>b</li>", "- a\n- b"),
    "cards": ("<ul><li><h3>A</h3><p>a</p><li><h3>B</h3>b</ul><p>c", "### A\n\na\n\n### B\n\nb\n\nc"),
    "code": ("<ul><li>Run:<pre>make</pre>then wait.</ul>", "- Run:\n\n```\nmake\n```\n\n  then wait."),
    "a table": (
        "<ul><li>a<table><tr><td>b<td>c<tr><td>d<td>e</table></ul>",
        "- a\n\n| b | c |\n| --- | --- |\n| d | e |",
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists(name: str) -> None:
    html, expected = LISTS[name]
    assert markdown(html) == expected


TABLES = {
    "heads and captions": (
        "<table><caption>T</caption><thead><tr><th>a<th>b</thead><tbody><tr><td>c<td>d</table>",
        "T\n\n| a | b |\n| --- | --- |\n| c | d |",
    ),
    "blocks in cells": (
        "<table><tr><td>a<td>b<tr><td><p>c</p><p>d</p><td><ul><li>e<li>f</ul></table>",
        "| a | b |\n| --- | --- |\n| c d | e f |",
    ),
    "marks in cells": ("<table><tr><td>a|b<td>c<br>d<tr><td>e<td></table>", "| a\\|b | c d |\n| --- | --- |\n| e |  |"),
    "empty rows": ("<table><tr><td>a<td>b<tr><td> <td><tr><td>c<td>d</table>", "| a | b |\n| --- | --- |\n| c | d |"),
    "one column with a head": (
        "<table><thead><tr><th>a</thead><tr><td><p>b</p><p>c</p></table>",
        "| a |\n| --- |\n| b c |",
    ),
    "one column arranges": ("<table><tr><td>a<tr><td>b</table>", "a\n\nb"),
    "one row arranges": ("<table><tr><td>a<td>b</table>", "a\n\nb"),
    "headings arrange": ("<table><tr><td><h2>a</h2><td>b<tr><td>c<td>d</table>", "## a\n\nb\n\nc\n\nd"),
    "tables arrange": (
        "<table><tr><td>x<td><table><tr><td>a<td>b<tr><td>c<td>d</table><tr><td>y<td>z</table>",
        "x\n\n| a | b |\n| --- | --- |\n| c | d |\n\ny\n\nz",
    ),
    "roles": ("<table role=presentation><tr><td>a<td>b<tr><td>c<td>d</table>", "a\n\nb\n\nc\n\nd"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str) -> None:
    html, expected = TABLES[name]
    assert markdown(html) == expected


def test_a_row_that_is_too_long_for_a_sentence_is_paragraphs() -> None:
    head = "<table><tr><td>a<td>b<tr><td>"
    assert markdown(f"{head}{'c' * 1999}<td>d</table>").endswith(f"| --- | --- |\n| {'c' * 1999} | d |")
    assert markdown(f"{head}{'c' * 2000}<td>d</table>").endswith(f"| --- | --- |\n\n{'c' * 2000}\n\nd")


def test_code_keeps_its_lines_and_ends_at_its_own_fence() -> None:
    assert markdown("<pre>\na\n  b <b>c</b><br>d\n</pre>") == "```\na\n  b c\nd\n```"
    assert markdown("<pre>```\nx\n````</pre>") == "`````\n```\nx\n````\n`````"
    assert markdown("<table><tr><td>a<td>b<tr><td>c<td><code>d  e</code></table>").endswith("| c | d e |")


def test_long_code_is_told_by_names_around_it_and_by_what_stands_in_it() -> None:
    words = "pay the fee of the seat and leave\n" * 20
    for around in ("<div class=highlight><pre>{}</pre></div>", "<div class=code><div><pre>{}</pre></div></div>"):
        assert markdown(around.format(words)).startswith("```\npay")
    assert markdown(f"<pre class=programlisting>{words}</pre>").startswith("```\npay")
    columns, calls = "seat   INTEGER\n" * 40, "fee(seat);\n" * 40
    assert markdown(f"<pre>{columns}</pre>").startswith("```\nseat")
    assert markdown(f"<pre>{calls}</pre>").startswith("```\nfee")
    assert markdown(f"<div class=code><div><div><pre>{words}</pre></div></div></div>").startswith("pay")


def test_a_letter_that_was_typed_with_line_breaks_is_prose() -> None:
    letter = "The fee is due on Monday. It is payable\nby the party that signs first.\n\n" * 8
    assert markdown(f"<pre>{letter}</pre>").split("\n\n") == letter.strip().split("\n\n")
    assert markdown(f"<pre class=highlight>{letter}</pre>").startswith("```\nThe fee")


def test_a_long_heading_is_a_paragraph() -> None:
    assert read(f"<h2>{'a' * 293}</h2>").blocks[0].kind == HEADING
    assert markdown(f"<h2>{'a' * 294}</h2>") == "a" * 294


HIDDEN = {
    "programs": "<script>x</script><style>x</style><template>x</template><noscript>x</noscript>",
    "a head": "<head><meta content=x><style>x</style></head>",
    "navigation": "<nav>x</nav><div role=navigation>x</div>",
    "attributes": "<p hidden>x</p><p hidden=until-found>x</p><b aria-hidden=TRUE>x</b><dialog>x</dialog>",
    "styles": "<p style='color:red;DISPLAY : none'>x</p><i style=visibility:hidden>x</i>",
    "what is in them": "<div hidden><p>x <span>x</span> x</p>x</div>",
    "controls": "<button>x</button><select><option>x</select><textarea>x</textarea><input value=x>",
    "pictures": "<svg><title>x</title><text>x</text></svg><img alt=x><canvas>x</canvas><video>x</video>",
    "comments": "<!-- x --><!x><?x ?><![CDATA[x]]>",
    "marks of links": "<a class=headerlink href=#t>¶</a><a href='#b'> ↑ </a><a href=#c><span>#</span></a>",
    "formulas twice": "<math><annotation>x</annotation></math><span aria-hidden=true>x</span>",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_isnt_seen_is_left_out_and_what_follows_is_not(name: str) -> None:
    assert "x" not in markdown(f"<p>a</p>{HIDDEN[name]}b <p>c</p>")
    assert re.findall(r"\w", markdown(f"<p>a</p>{HIDDEN[name]}b <p>c</p>")) == ["a", "b", "c"]


LINKS = "<a href=/x>x</a> | <a href=/x>x</a> | <a href=/x>x</a>"

NAMED_AS_NAVIGATION = {
    "menus": f"<ul class='Main-Menu open'>{LINKS}</ul>",
    "tables of contents": f"<div id=toc><p>{'On this page: ' * 8}{LINKS * 5}</div>",
    "links to the pages before and after": "<div class=navheader><a href=/x>Last: x</a> Part x</div>",
    "links that say so": "<div><p>Last: <a rel=prev href=/x>x</a>, next: <a rel='next x' href=/x>x</a></p></div>",
    "breadcrumbs": "<ol class=breadcrumb><li><a href=/x>x</a><li>x</ol>",
    "what is in another": f"<div class=sidebar><div class=menu>{LINKS}</div>{LINKS}</div>",
}


@pytest.mark.parametrize("name", NAMED_AS_NAVIGATION)
def test_navigation_is_told_by_its_name_and_its_links(name: str) -> None:
    assert markdown(f"<p>a</p>{NAMED_AS_NAVIGATION[name]}b <p>c</p>") == "a\n\nb\n\nc"


CONTENT = {
    "dishes": "<ul class=menu><li><a href=/1>Soup</a> $4<li><a href=/2>Rice</a> $5<li><a href=/3>Pie</a> $6</ul>",
    "a note beside the text": "<p class=sidebar>See <a href=/1>Fees</a>, <a href=/2>Terms</a> and <a href=/3>Law</a>.",
    "one link to a page": "<p>Go on to the <a rel=next href=/1>next page</a>.</p>",
    "a page and the links around it": (
        "<div>Fees <p>are</p> due <b><a rel=prev href=/1>A</a> <a rel=next href=/2>B</a></b>"
        " on the last day of the month, all of them.</div>"
    ),
    "sections whose title is a name": (
        "<h2 id=menu><a href=/1>A</a></h2><section id=toc><a href=/2>B</a></section>"
        "<div class=section id=pager><a href=/3>C</a></div>"
    ),
    "two links": "<p class=menu><a href=/1>Soup</a> <a href=/2>Rice</a></p>",
    "text without links": "<div class=toc>1. Fees 2. Terms</div>",
    "much text without links": f"<div class=nav><a href=/1>Fees</a> {'are due ' * 20}</div>",
    "names with other words": f"<div class='nav-tab-pane navigable'>{LINKS}</div>",
    "anchors without targets": "<ul class=menu><li><a>Soup</a><li><a>Rice</a><li><a>Pie</a></ul>",
}


@pytest.mark.parametrize("name", CONTENT)
def test_a_name_alone_doesnt_make_navigation(name: str) -> None:
    seen = re.sub(r"<[^>]*>", " ", CONTENT[name])
    assert re.findall(r"\w+", markdown(f"<p>a</p>{CONTENT[name]}")) == ["a", *re.findall(r"\w+", seen)]


def test_a_page_that_is_nothing_but_a_menu_is_read() -> None:
    assert markdown(f"<body class=menu>{LINKS}</body>") == "x | x | x"


BOXES = {
    "a title": "<div class='admonition note'><p class='first admonition-title'>Note</p><p>Save it.</div>",
    "a heading": "<div class=note>\n<h3>Note</h3><p>Save it.</div>",
    "a table": "<div class=note><table><tr><td><img><th>Note<tr><td><p>Save it.</table></div>",
    "an icon": "<div class=admonitionblock><table><td class=icon><div class=title>Note</div><td>Save it.</table></div>",
    "a mark": "<div class=markdown-alert><p class=markdown-alert-title><svg></svg>Note:</p><p>Save it.</div>",
}


@pytest.mark.parametrize("name", BOXES)
def test_the_label_of_a_box_stands_before_its_text_and_begins_no_section(name: str) -> None:
    assert markdown(f"<h2>Files</h2>{BOXES[name]}<p>b") == "## Files\n\nNote: Save it.\n\nb"


def test_the_label_of_a_box_without_a_paragraph_stands_alone() -> None:
    box = "<div class=admonition><p class=admonition-title>Note</p>{}</div><p>b"
    assert markdown(box.format("<ul><li>a</ul>")) == "Note:\n\n- a\n\nb"
    assert markdown(box.format("<pre>a</pre>")) == "Note:\n\n```\na\n```\n\nb"
    assert markdown(box.format("")) == "Note:\n\nb"
    assert markdown("<p class=admonition-title>Note</p>") == "Note:"
    assert markdown(f"<ul><li>a{box.format('<p>c')}</ul>").startswith("- a\n\n  Note: c")


@pytest.mark.parametrize("before", ["<p class=admonition-title>Note</p>", "<h3>Note</h3>", "Note:"])
def test_a_table_in_a_box_that_it_doesnt_draw_holds_data(before: str) -> None:
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
"""Running text, by which boilerplate is told."""


def rest(html: str) -> str:
    """The Markdown of a page without the paragraphs of running text."""
    return re.sub(r"In room \d[^\n]*\n*", "", markdown(html)).strip()


def test_a_small_box_that_is_called_the_main_part_isnt_all_that_is_read() -> None:
    for box in ("<article>Desk: room 4</article>", "<main>Desk: room 4</main>"):
        assert markdown(f"{box}<div><h1>Chairs</h1>{PARAGRAPHS}</div>").startswith(
            "Desk: room 4\n\n# Chairs\n\nIn room 0"
        )
        assert markdown(f"{box}<ul>{'<li>one more line' * 30}</ul>").count("- one more line") == 30
    assert rest(f"<main>{PARAGRAPHS}</main><article>Desk: room 4</article>") == ""


def test_a_main_part_in_what_is_open_by_mistake_is_read() -> None:
    assert rest(f"<p>a<button><main><h1>Chairs</h1>{PARAGRAPHS}</main>") == "# Chairs"


STORIES = "".join(f"<li><a href=/{number}>Another story of a chair</a>" for number in range(4))
BOILERPLATE = {
    "a bar to share": "<div class='post-share-bar'><span>Share</span> <b>12</b> Tweet</div>",
    "names in one word": "<div class=shareButtons>Tweet</div>",
    "an advertisement": "<div class='right_ad-slot'>Advertisement</div>",
    "teasers": f"<section class=related-posts><h3>More of this</h3><ul>{STORIES}</ul></section>",
    "a heading before teasers": f"<h2>You may like</h2><div class=trending><ul>{STORIES}</ul></div>",
    "an aside of links": f"<aside><p>Elsewhere<ul>{STORIES}</ul></aside>",
    "a form for comments": "<form><p>Your name</p><input><p>Your comment</p><textarea></textarea></form>",
    "a form with long labels": f"<div id=respond><form>{'<p>Your name</p><input>' * 20}</form></div>",
    "a note beside a form": "<p class=must-log-in>You must <a href=/in>log in</a> to answer.</p>",
    "links that share the page": "<p>To <a href=https://x.com/intent/post>X</a> <a href='mailto:?a'>Mail</a></p>",
    "a link to the comments": "<p>12 <a href=/1#comments>answers</a></p>",
    "an aside with fields": "<aside><label>Print pictures <input type=checkbox></label></aside>",
    "a link to read on": "<p><b>Lire aussi : <a href=/1>Une autre histoire</a></b></p>",
    "a link to read on without a colon": "<p>Read more <a href=/1>Another story of a chair</a></p>",
    "a newsletter": "<div id=newsletter><p>A letter a week</p><input type=email></div>",
    "a foot": "<footer><a href=/us>About us</a> <a href=/law>Terms</a></footer>",
    "a copyright notice": "<div>© 2024 Chairs Ltd., all rights reserved</div>",
    "a list of links around the text": f"<div><b>Latest</b><ul>{STORIES}</ul></div>",
}


@pytest.mark.parametrize("name", BOILERPLATE)
def test_boilerplate_is_left_out_of_running_text(name: str) -> None:
    assert rest(f"<div><h1>Chairs</h1>{PARAGRAPHS}</div>{BOILERPLATE[name]}") == "# Chairs"


def test_a_copyright_notice_below_all_running_text_is_left_out_wherever_it_stands() -> None:
    assert rest(f"<div><div>{PARAGRAPHS}</div><p>© 2024 Chairs Ltd.</p><p>Room 9</p></div>") == "Room 9"


@pytest.mark.parametrize("name", BOILERPLATE)
def test_a_page_without_running_text_keeps_it(name: str) -> None:
    seen = re.findall(r"\w+", re.sub(r"<[^>]*>", " ", BOILERPLATE[name]))
    assert re.findall(r"\w+", markdown(f"<h1>Chairs</h1>{BOILERPLATE[name]}")) == ["Chairs", *seen]


KEPT = {
    "a box that holds the text": f"<div class='share has-sidebar'>{PARAGRAPHS}</div>",
    "a quoted message": "<div class=social-embed><p>We sat <a href=/1>here</a></p></div>",
    "a note in the margin": "<aside><p>Chairs have four legs.</p></aside>",
    "a foot of a quotation": "<blockquote>Sit.<footer>A chair</footer></blockquote>",
    "links in the text": f"<p>See also:</p><ul>{STORIES}</ul>",
    "sections that others link to": f"<div><h2 id=a><a href=/a>A</a></h2><ul>{STORIES}</ul></div>",
    "a title": "<div class=header><h1><a href=/>Chairs</a></h1></div>",
    "code": "<div class=copyright><pre>© 2024</pre></div>",
    "who wrote a comment": "<p><a href=/1#comment-7>Anna, at noon</a></p>",
    "a copyright notice above the text": "<p>© 2024 Chairs Ltd.</p>",
    "a link to read on in a sentence": "<p>Read also the <a href=/1>story of a chair</a>.</p>",
    "a link to a profile": "<p>By <a href=https://twitter.com/chairs>Chairs</a></p>",
    "a short class": "<p class='ad go'>Chairs</p><div class=ad>Tables</div>",
}


@pytest.mark.parametrize("name", KEPT)
def test_a_name_or_links_alone_make_no_boilerplate(name: str) -> None:
    seen = re.findall(r"\w+", re.sub(r"<[^>]*>", " ", KEPT[name]))
    assert set(seen) <= set(re.findall(r"\w+", markdown(f"<div>{PARAGRAPHS}{KEPT[name]}{PARAGRAPHS}</div>")))


def test_what_readers_wrote_is_text() -> None:
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


def test_what_is_for_screen_readers_only_is_left_out_but_words_in_a_line() -> None:
    assert markdown("<a class='x sr-only' href='#c'>Skip</a><p>1<span class=sr-only>:</span> a") == "1: a"


def test_what_a_script_shows_is_content() -> None:
    slides = "".join(f"<div class=slide>{PARAGRAPHS}</div>" for _ in range(3))
    assert markdown(f"<style>.slide{{display:none}}</style><h1>Chairs</h1>{slides}").count("In room 5") == 3
    faded = PARAGRAPHS.replace("<p>", "<p style='opacity:0'>")
    assert markdown(faded * 3).count("In room 5") == 3
    assert markdown(f"<p>a</p>{faded}") == "a"


def test_text_without_a_size_around_blocks_that_have_one_hides_nothing() -> None:
    assert markdown("<div style='font-size:0'><p style='font-size:1em'>a</p> </div>") == "a"
    assert markdown("<div style='font-size:0'><div class=column>a</div></div>") == "a"
    assert markdown("<div style='font-size:0'><p>a</p></div>b") == "b"


def test_preformatted_prose_may_begin_with_a_blank_line() -> None:
    prose = "The chair is counted each morning and mended when it broke, as all know. " * 6
    assert markdown(f"<pre>   \n{prose}\n \n{prose}</pre>") == f"{prose.strip()}\n\n{prose.strip()}"


def test_a_mark_is_looked_for_in_a_few_elements_only() -> None:
    """So that links in links, each of which has the text of all, take time by their length."""
    marked = "<h1>a<a href='#x'>{}¶{}</a></h1>"
    assert markdown(marked.format("<b>" * 3, "</b>" * 3)) == "# a"
    assert markdown(marked.format("<b>" * 400, "</b>" * 400)) == "# a¶"
    assert markdown("<a href='#x'><b>" * 400 + "text" + "</b></a>" * 400) == "**text**"


def test_the_title_is_on_one_line_without_what_cant_be_shown() -> None:
    assert read("<title> Fees\n &amp; more\u202e </title><p>a").title == "Fees & more"
    assert read("<svg><title>x</title></svg><p>a").title == ""
    assert len(read(f"<title>{'x' * 5000}</title><p>a").title) == 1000


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
def test_every_word_that_is_seen_is_in_the_markdown_once_and_in_order(tree: Tree) -> None:
    html, words = tree
    page = read(f"<html><body>{html}</body></html>")
    assert re.findall(r"w\d+", page.text) == words
    assert all(page.text[block.start : block.end].strip() for block in page.blocks)
    found = [word for each in sentences(page) for word in re.findall(r"w\d+", each.page_content)]
    assert found == words


@given(st.text(alphabet="<>/=\"'! -&;abpuliotdrhscx#1\n", max_size=200))
def test_any_text_is_read_as_a_page(text: str) -> None:
    page = read(text)
    found = sentences(page) if page.text else []
    assert "".join("".join(each.page_content for each in found).split()) == "".join(page.text.split())


# Much


@pytest.mark.parametrize("unit", ["<b>", "<div>x", "<ul><li>x", "<table><tr><td>x", "<span><p>x"])
def test_tags_nested_without_end_are_refused(unit: str) -> None:
    with pytest.raises(DocumentReadError, match=r"^a\.html nests its tags too deep, so it is damaged; save it anew"):
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
