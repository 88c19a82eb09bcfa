"""The keys of the metadata contract.

In a sentence Document, which a vector store holds, the values of these keys are strings and numbers, as some stores
refuse anything else. The keys of a window Document are in `langchain_sentence_window.documents.window_metadata`.

====================  =====================================================
key                   meaning
====================  =====================================================
``doc_id``            the source document
``start_index``       first code point in the source
``end_index``         one past the last code point
``heading``           titles of the headings above, joined by `` > ``
``sentence_index``    index among the document's sentences, from 0
``section_start``     index of the section's first sentence
``section_end``       one past the index of its last sentence
``separator``         white space up to the next sentence, if not one space
``kind``              the block's kind, if not prose
``lead_in``           index of the sentence that introduces it, if any
``pieces_start``      index of the first piece of a sentence that was cut
``pieces_end``        one past the index of its last piece
``heading_level``     1 to 6, of a heading of a document with parts
``part_spans``        its places in the parts of the document, as JSON
``window_text``       its inline window, if the splitter writes one
``window_first``      index of that window's first sentence
``window_last``       index of its last sentence, included
``window_start``      the window's first code point in the source
``window_end``        one past its last code point
``window_spans``      spans of its sentences in it: ``0:12 13:40``
``window_separator``  white space after it, if not one space
``window_parts``      its places in the parts of the document, as JSON
``ingest_state``      of the first and last: what `ingest` made them of
====================  =====================================================

``heading`` is left out if there is none. All other metadata of a source document is carried along: lists, dicts and
``None`` too, if the store holds them, and dates as strings. What it can't hold is left out, with a warning.

If the metadata of a source document has a key of this table, that key is renamed: ``kind`` becomes ``source_kind``, or
``source_source_kind`` if the document has another ``source_kind`` too. So nothing is lost, and no value of a document
is taken for one of this package. Filter by the new name.

Three keys are read first. ``doc_id`` names the document if it has no id; it is left out if it is the document's name.
``start_index`` and ``end_index`` are left out if they cover the whole text.

Keys that a store adds to its Documents, such as an id, are removed.
"""

DOC_ID = "doc_id"
SENTENCE_INDEX = "sentence_index"
START_INDEX = "start_index"
END_INDEX = "end_index"
SECTION_START = "section_start"
SECTION_END = "section_end"
SEPARATOR = "separator"
KIND = "kind"
LEAD_IN = "lead_in"
PIECES_START = "pieces_start"
PIECES_END = "pieces_end"
HEADING_LEVEL = "heading_level"
PART_SPANS = "part_spans"
HEADING = "heading"
WINDOW_TEXT = "window_text"
WINDOW_FIRST = "window_first"
WINDOW_LAST = "window_last"
WINDOW_START = "window_start"
WINDOW_END = "window_end"
WINDOW_SPANS = "window_spans"
WINDOW_SEPARATOR = "window_separator"
WINDOW_PARTS = "window_parts"
INGEST_STATE = "ingest_state"
SOURCE = "source"

PER_SENTENCE_KEYS = frozenset(
    {
        SENTENCE_INDEX,
        START_INDEX,
        END_INDEX,
        SEPARATOR,
        KIND,
        LEAD_IN,
        PIECES_START,
        PIECES_END,
        HEADING_LEVEL,
        PART_SPANS,
        WINDOW_TEXT,
        WINDOW_FIRST,
        WINDOW_LAST,
        WINDOW_START,
        WINDOW_END,
        WINDOW_SPANS,
        WINDOW_SEPARATOR,
        WINDOW_PARTS,
        INGEST_STATE,
    }
)
"""Keys whose values differ among the sentences of a section."""

PER_SECTION_KEYS = frozenset({SECTION_START, SECTION_END, HEADING})
"""Keys whose values differ among the sections of a document; other values rarely differ inside a document."""

RENAMED = "source_"
"""The prefix of a source document's key that is a key of the contract."""

SENTENCE_KEYS = PER_SENTENCE_KEYS | PER_SECTION_KEYS | {DOC_ID}
"""All keys in the table above."""
