"""The keys of the metadata contract.

A sentence Document, which a vector store holds, carries flat scalars only, as some stores refuse
anything else. A window Document, which a retriever returns, also carries lists.

======================  =====================================================  ==========
key                     meaning                                                carried by
======================  =====================================================  ==========
``doc_id``              the source document                                    both
``start_index``         first code point in the source                         both
``end_index``           one past the last code point                           both
``heading``             titles of the headings above, joined by `` > ``        both
``sentence_index``      place among the document's sentences, from 0           sentence
``section_start``       index of the section's first sentence                  sentence
``section_end``         one past the index of its last sentence                sentence
``separator``           white space up to the next sentence, if not one space  sentence
``kind``                the block's kind, if not prose                         sentence
``window_text``         the window around it, if it was asked for              sentence
``window_first``        index of that window's first sentence                  sentence
``window_last``         index of its last sentence, which is in it             sentence
``window_start``        the window's first code point in the source            sentence
``window_end``          one past its last code point                           sentence
``window_spans``        where its sentences stand in it: ``0:12 13:40``        sentence
``window_separator``    white space after it, if not one space                 sentence
``sentences``           ``[first, last]`` sentence index, both included        window
``hits``                the sentences found: index, place and score            window
``score``               the best hit's score                                   window
``window_id``           the same for the same sentences of the same document   window
``relevance_score``     a reranker's score                                     window
======================  =====================================================  ==========

``heading`` is left out where there is none. What else a source document's metadata holds is carried along.

A key in this table that a source document has in its own metadata is renamed: ``kind`` becomes ``source_kind``,
or ``source_source_kind`` where the document has another ``source_kind`` too. So nothing is lost, and nothing that a
document says of itself is taken for what was found out about it. Filter by the new name. Two keys mean something
before they are renamed: ``doc_id`` names the document, unless its id does; and ``start_index`` and ``end_index`` that
cover just the text that was given say nothing, so they are left out, as is a ``doc_id`` that is the document's name.

Stores add keys of their own to what they give back, such as its id; those don't come out.
"""

DOC_ID = "doc_id"
SENTENCE_INDEX = "sentence_index"
START_INDEX = "start_index"
END_INDEX = "end_index"
SECTION_START = "section_start"
SECTION_END = "section_end"
SEPARATOR = "separator"
KIND = "kind"
HEADING = "heading"
WINDOW_TEXT = "window_text"
WINDOW_FIRST = "window_first"
WINDOW_LAST = "window_last"
WINDOW_START = "window_start"
WINDOW_END = "window_end"
WINDOW_SPANS = "window_spans"
WINDOW_SEPARATOR = "window_separator"
SENTENCES = "sentences"
HITS = "hits"
SCORE = "score"
WINDOW_ID = "window_id"
RELEVANCE_SCORE = "relevance_score"
SOURCE = "source"

PER_SENTENCE_KEYS = frozenset(
    {
        SENTENCE_INDEX,
        START_INDEX,
        END_INDEX,
        SEPARATOR,
        KIND,
        WINDOW_TEXT,
        WINDOW_FIRST,
        WINDOW_LAST,
        WINDOW_START,
        WINDOW_END,
        WINDOW_SPANS,
        WINDOW_SEPARATOR,
    }
)
"""What differs among the sentences of a section."""

PER_SECTION_KEYS = frozenset({SECTION_START, SECTION_END, HEADING})
"""What differs among the sections of a document; the rest of a sentence Document's metadata rarely does."""

RENAMED = "source_"
"""What is put before a key of the contract in a source document's own metadata."""

CONTRACT_KEYS = frozenset(
    {
        *(DOC_ID, SENTENCE_INDEX, START_INDEX, END_INDEX, SECTION_START, SECTION_END, SEPARATOR, KIND, HEADING),
        *(WINDOW_TEXT, WINDOW_FIRST, WINDOW_LAST, WINDOW_START, WINDOW_END, WINDOW_SPANS, WINDOW_SEPARATOR),
        *(SENTENCES, HITS, SCORE, WINDOW_ID, RELEVANCE_SCORE),
    }
)
"""All keys in the table above."""
