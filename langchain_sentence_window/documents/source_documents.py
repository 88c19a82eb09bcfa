"""Write the sentence Documents of a source document with the metadata that they carry; name source documents.

What of its metadata a store can't hold is left out with one warning. The module `sentence_documents` reads them.

The state of a document when it was ingested is one string in the metadata of its first and last sentence::

    ingest_state = "9f86d081884c7d65… 48 2c26b46b68ffc68f handbooks"

That is a fingerprint of the document and of all settings, the number of its sentences, an attempt, and a namespace. So
a store tells by itself which of its documents are complete: those of which both sentences have the same state, and that
have no further sentence. An attempt is a number of its own for each time that a document is written, as a document may
be replaced in part by one version, and then in part by another.
"""

import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Span
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.splitting.blocks import PROSE
from langchain_sentence_window.windows.geometry import Hit, Window, expand

from . import keys
from .joined_document import JoinedDocument, first_piece, write_spans
from .metadata_values import SCALARS, json_item
from .source_parts import NAMING_KEYS, is_text_file, line_breaks

if TYPE_CHECKING:
    from langchain_sentence_window.splitting.front_matter import FrontMatter
    from langchain_sentence_window.splitting.sentences import Sentence


def sentence_documents(
    joined: JoinedDocument,
    sentences: "Sequence[Sentence]",
    front_matter: "FrontMatter | None",
    fitter: "MetadataFitter",
    inline_window: tuple[int, int] | None = None,
) -> list[Document]:
    """Make the Documents that a store holds, one for each sentence of a document.

    Args:
        joined: The source document.
        sentences: Its sentences, in order.
        front_matter: That of its text.
        fitter: Fits the metadata of its parts to the store.
        inline_window: Sentences before and after each sentence to write into its metadata; ``None`` for none.
    """
    text, doc_id = joined.text, joined.doc_id
    carried = [part.carried for part in joined.parts]
    # Unless it was split into sentences, as in plain text. A text can't say where it is from.
    if front_matter is not None and not (sentences and sentences[0].start < front_matter.end):
        values = {key: value for key, value in front_matter.values.items() if key not in NAMING_KEYS}
        carried = [each.model_copy(update={"metadata": {**values, **each.metadata}}) for each in carried]
    own = [carried_metadata(each, doc_id) for each in fitter.fit(carried)]
    spans = [(sentence.start, sentence.end) for sentence in sentences]
    has_lines = not joined.pieces and all(is_text_file(part.document.metadata) for part in joined.parts)
    made: list[Document] = []
    line, counted = 1, 0
    for index, sentence in enumerate(sentences):
        part = joined.pieces[first_piece(joined, sentence.start)].part if joined.pieces else 0
        metadata = own[part] | {
            keys.DOC_ID: doc_id,
            keys.SENTENCE_INDEX: index,
            keys.START_INDEX: sentence.start,
            keys.END_INDEX: sentence.end,
            keys.SECTION_START: sentence.section_start,
            keys.SECTION_END: sentence.section_end,
        }
        separator = separator_after(text, spans, index)
        if has_lines:
            line, counted = line + line_breaks(text, counted, sentence.start), sentence.start
        optional = (
            (keys.SEPARATOR, separator, " "),
            (keys.KIND, sentence.kind, PROSE),
            (keys.HEADING, sentence.heading, ""),
            (keys.LEAD_IN, sentence.lead_in, None),
            (keys.PIECES_START, sentence.pieces and sentence.pieces[0], None),
            (keys.PIECES_END, sentence.pieces and sentence.pieces[1], None),
            (keys.HEADING_LEVEL, sentence.level if joined.pieces else 0, 0),
            (keys.START_LINE, line if has_lines else None, None),
            (keys.PART_SPANS, write_spans(joined, sentence.start, sentence.end) if joined.pieces else "", ""),
        )
        metadata |= {key: value for key, value, usual in optional if value != usual}
        if inline_window is not None:
            alone = Hit(doc_id, index, sentence.section_start, sentence.section_end, score=0.0)
            window = expand(alone, *inline_window)
            metadata |= write_window(text, spans, window)
            if joined.pieces:
                start, end = spans[window.first][0], spans[window.last][1]
                metadata[keys.WINDOW_PARTS] = write_spans(joined, start, end, names_first=True)
        made.append(
            Document(
                id=keys.sentence_id(doc_id, index),
                page_content=text[sentence.start : sentence.end],
                metadata=metadata,
            )
        )
    return made


def write_window(text: str, spans: Sequence[Span], window: Window) -> dict[str, Any]:
    """Return the metadata that holds a window.

    Args:
        text: The text of the source document.
        spans: The spans of its sentences.
        window: The window to write.
    """
    held = spans[window.first : window.last + 1]
    start, end = held[0][0], held[-1][1]
    goes_on = window.last + 1 < window.hits[0].section_end  # else no window needs what follows, which may be long
    separator = separator_after(text, spans, window.last) if goes_on else " "
    return {
        keys.WINDOW_TEXT: text[start:end],
        keys.WINDOW_FIRST: window.first,
        keys.WINDOW_LAST: window.last,
        keys.WINDOW_START: start,
        keys.WINDOW_END: end,
        keys.WINDOW_SPANS: " ".join(f"{first - start}:{last - start}" for first, last in held),
        **({keys.WINDOW_SEPARATOR: separator} if separator != " " else {}),
    }


def separator_after(text: str, spans: Sequence[Span], index: int) -> str:
    """Return what is between a sentence and the next: white space and markup; one space after the last."""
    return " " if index + 1 == len(spans) else text[spans[index][1] : spans[index + 1][0]]


MAX_METADATA_KEYS = 1_000
"""Keys of a source document's metadata, all of which each of its sentences carries."""


def carried_metadata(document: Document, doc_id: str) -> dict[str, Any]:
    """Return the metadata of a source document that its sentences carry, with keys of the contract renamed.

    Args:
        document: The source document, its metadata fitted to the store.
        doc_id: Its name.

    Raises:
        InvalidInputError: It has more than `MAX_METADATA_KEYS` keys.
    """
    if len(document.metadata) > MAX_METADATA_KEYS:
        raise InvalidInputError(
            f"the metadata of document {doc_id!r:.80} has {len(document.metadata)} keys, and each of its sentences "
            f"carries them; keep {MAX_METADATA_KEYS} at most, those to filter by or to show. Nothing was stored"
        )
    given = document.metadata
    carried = {key: value for key, value in given.items() if key not in keys.CONTRACT_KEYS}
    if len(carried) == len(given):  # the usual case, quickly
        return carried
    known = {keys.DOC_ID: doc_id, **_whole(document)}
    for key, value in given.items():
        if key not in keys.CONTRACT_KEYS or (key in known and known[key] == keys.storable_text(value)):
            continue
        name = keys.RENAMED + key
        while name in carried and (type(carried[name]), carried[name]) != (type(value), value):
            name = keys.RENAMED + name
        carried[name] = value
    return carried


def _whole(document: Document) -> dict[str, str]:
    """Return the start and end index of a document, as text, if they only say that the text is the whole document."""
    if isinstance(document.id, str) and document.id == keys.storable_text(document.metadata.get(keys.DOC_ID)):
        # A document that `get` returned, perhaps edited since: this package wrote the indexes.
        return {key: keys.storable_text(document.metadata.get(key)) or "" for key in (keys.START_INDEX, keys.END_INDEX)}
    whole = {keys.START_INDEX: "0", keys.END_INDEX: str(len(document.page_content))}
    is_whole = all(keys.storable_text(document.metadata.get(key, index)) == index for key, index in whole.items())
    return whole if is_whole else {}


def source_names(document: Document) -> list[str]:
    """Return the names that a retriever may know a source document by: its id, its ``doc_id``, its ``source``."""
    given = (document.id, document.metadata.get(keys.DOC_ID), document.metadata.get(keys.SOURCE))
    return [text for name in given if name is not None for text in [keys.storable_text(name)] if text is not None]


def found_span(document: Document) -> tuple[str, int | None]:
    """Return the source document of a Document that any retriever returned, and where its text starts there.

    Returns:
        Its ``doc_id``, else its ``source``; and its ``start_index``, or ``None`` if that is negative, as LangChain's
        splitters write it for a text that they can't find again.

    Raises:
        InvalidInputError: The metadata lacks them, or the text isn't as long as its span.
    """
    metadata = document.metadata
    name = metadata.get(keys.DOC_ID, metadata.get(keys.SOURCE))
    start, end = metadata.get(keys.START_INDEX), metadata.get(keys.END_INDEX)
    if name is None or not isinstance(start, int | float):
        raise InvalidInputError(
            f"the retriever returned a document whose span is unknown, as its metadata is {shown(metadata)}; it "
            "must hold 'start_index', as RecursiveCharacterTextSplitter(add_start_index=True) writes it, and 'doc_id' "
            "or 'source'"
        )
    if end is not None and int(end) - int(start) != len(document.page_content):
        raise InvalidInputError(
            f"the retriever returned a document of {len(document.page_content)} characters that says it is "
            f"[{shown(start)}, {shown(end)}) of {shown(name)}; a rewritten text can't be compared with gold spans"
        )
    text = keys.storable_text(name)
    if text is None:
        raise InvalidInputError(f"the retriever returned a document named {shown(name)}; name it by a string")
    return text, int(start) if start >= 0 else None


_MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """The metadata that a store can hold.

    Attributes:
        name: The name of the store, for a warning.
        holds: Says whether the store gives back the value of a key as it was given, as ``holds(key, value)``. It is
            asked about values as `json_item` returns them.
        cure: Advice about values that it can't hold.
        typed: Keys whose values aren't converted: only a plain string, number or boolean goes there.
    """

    name: str
    holds: Callable[[str, Any], bool]
    cure: str
    typed: Collection[str] = ()


def _holds_all(_: str, value: Any) -> bool:  # noqa: ARG001
    return True


def _holds_scalar(_: str, value: Any) -> bool:  # no lambda, as limits are sent to other processes
    return isinstance(value, SCALARS)


ANY_STORE = StoreLimits(
    "many a store",
    _holds_scalar,
    "add the documents with a retriever's add_documents, which keeps all that its store can hold",
)
"""The limits of a store that isn't known: it holds strings, numbers and booleans."""


JSON = StoreLimits("JSON", _holds_all, "convert it to strings, finite numbers, booleans, lists or dicts")
"""The limits of documents on their way to a store that holds JSON, or that fits them to itself."""


@dataclass(slots=True)
class MetadataFitter:
    """Fits the metadata of the documents of one call to a store, and warns once of all that was left out.

    Attributes:
        limits: What the store can hold.
    """

    limits: StoreLimits
    _left_out: dict[str, None] = field(default_factory=dict, init=False)

    def fit(self, documents: Sequence[Document], untouched: Collection[str] = ()) -> list[Document]:
        """Return documents with the metadata that the store can hold, in the form of JSON; see `json_item`.

        Args:
            documents: The documents; they aren't changed.
            untouched: Keys whose values stay as they are.

        Returns:
            One document for each. None shares a list or a dict of its metadata with the one that was given.
        """
        fitted: list[Document] = []
        for document in documents:
            kept: dict[str, Any] = {}
            for key, value in document.metadata.items():
                if key in untouched:
                    kept[key] = value
                    continue
                if key == keys.DOC_ID and not isinstance(value, SCALARS):  # the same name as if not converted
                    kept |= {} if value is None else {key: keys.storable_text(value)}
                    continue
                try:
                    name, converted = json_item(key, value, kept)
                except ValueError:
                    self._left_out[shown(key)] = None
                    continue
                is_typed = key in self.limits.typed and not isinstance(value, SCALARS)
                if is_typed or not self.limits.holds(name, converted):
                    self._left_out[shown(key)] = None
                else:
                    kept[name] = converted
            fitted.append(document.model_copy(update={"metadata": kept}))
        return fitted

    def warn(self) -> None:
        """Warn of the keys that were left out, if there are any."""
        if not self._left_out:
            return
        found = list(self._left_out)
        more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
        warnings.warn(
            SentenceWindowWarning(
                f"metadata was left out, as {self.limits.name} can't hold it: {', '.join(found[:_MAX_NAMED])}{more}; "
                f"{self.limits.cure}"
            ),
            stacklevel=3,
        )


FIRST_SENTENCES = {keys.SENTENCE_INDEX: 0}
"""A filter that matches one sentence of each document."""

_WRITTEN = re.compile(r"([0-9a-f]{32}) ([0-9]{1,12}) ([0-9a-f]{16}) (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class IngestState:
    """The state of a document when it was ingested.

    Attributes:
        fingerprint: 32 hexadecimal digits, equal for the same document and the same settings.
        sentences: The number of its sentences, 1 or more.
        attempt: 16 hexadecimal digits, different each time that it is written.
        namespace: The name that the ingest has, which tells its documents from those of others in the same store.
    """

    fingerprint: str
    sentences: int
    attempt: str
    namespace: str

    @classmethod
    def read(cls, metadata: Mapping[str, Any]) -> Self | None:
        """Read the state from a sentence's metadata; return ``None`` if there is none, or it can't be read."""
        given = metadata.get(keys.INGEST_STATE)
        found = _WRITTEN.fullmatch(given) if isinstance(given, str) else None
        return None if found is None else cls(found[1], int(found[2]), found[3], found[4])

    def __str__(self) -> str:
        """Write the state as `read` reads it."""
        return f"{self.fingerprint} {self.sentences} {self.attempt} {self.namespace}"


def with_state(sentences: Sequence[Document], state: IngestState) -> list[Document]:
    """Return all sentences of a document, the first and the last with its state."""
    marked = list(sentences)
    for place in {0, len(marked) - 1}:
        metadata = {**marked[place].metadata, keys.INGEST_STATE: str(state)}
        marked[place] = marked[place].model_copy(update={"metadata": metadata})
    return marked
