"""Write the sentence Documents of a source document with the metadata that they carry; name source documents.

What of its metadata a store can't hold is left out with one warning. The module `sentence_documents` reads them.

The state of a document when it was ingested is one string in the metadata of its first and last sentence::

    ingest_state = "9f86d081884c7d65… 48 2c26b46b68ffc68f handbooks"

That is a fingerprint of the document and of all settings, the number of its sentences, an attempt, and a namespace. So
a store shows by itself which of its documents are complete: those of which both sentences have the same state, and that
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
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning

from . import keys
from .metadata_values import SCALARS, json_item
from .part_spans import span_at, write_part_spans
from .sentence_documents import USUAL
from .source_metadata import NAMING_KEYS, identity_in, is_text_file, line_breaks
from .source_parts import JoinedDocument

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
    names = [identity_in(each) for each in own] if joined.spans else []
    spans = joined.spans
    has_lines = not spans and all(is_text_file(part.document.metadata) for part in joined.parts)
    last = len(sentences) - 1
    line, counted = 1, 0  # the line of a position up to which line breaks were counted
    documents: list[Document] = []
    for index, sentence in enumerate(sentences):
        start, end = sentence.start, sentence.end
        number = span_at(spans, start).number if spans else 0
        values = {
            **own[number],
            keys.DOC_ID: doc_id,
            keys.SENTENCE_INDEX: index,
            keys.START_INDEX: start,
            keys.END_INDEX: end,
            keys.SECTION_START: sentence.section_start,
            keys.SECTION_END: sentence.section_end,
        }
        written = {
            keys.SEPARATOR: " " if index == last else text[end : sentences[index + 1].start],
            keys.KIND: sentence.kind,
            keys.HEADING: sentence.heading,
            keys.LEAD_IN: sentence.lead_in,
            keys.PIECES_START: sentence.pieces and sentence.pieces[0],
            keys.PIECES_END: sentence.pieces and sentence.pieces[1],
        }
        values |= {key: value for key, value in written.items() if value != USUAL[key]}
        if spans:
            if sentence.level:
                values[keys.HEADING_LEVEL] = sentence.level
            values[keys.PART_SPANS] = write_part_spans(spans, text[start:end], start, names[number])
        if has_lines:
            line, counted = line + line_breaks(text, counted, start), start
            values[keys.START_LINE] = line
        if inline_window is not None:
            values |= _inline_window(joined, sentences, index, inline_window)
        documents.append(Document(id=keys.sentence_id(doc_id, index), page_content=text[start:end], metadata=values))
    return documents


def _inline_window(
    joined: JoinedDocument, sentences: "Sequence[Sentence]", index: int, size: tuple[int, int]
) -> dict[str, Any]:
    """Return the metadata that holds the window of a sentence."""
    sentence, (before, after) = sentences[index], size
    first, end = max(index - before, sentence.section_start), min(index + after + 1, sentence.section_end)
    held = sentences[first:end]
    start, stop = held[0].start, held[-1].end
    spans = [f"{each.start - sentence.start}:{each.end - sentence.start}" for each in held]
    values = {keys.WINDOW_TEXT: joined.text[start:stop], keys.WINDOW_SPANS: " ".join(spans)}
    # At the end of a section no window needs what follows, which may be long.
    separator = joined.text[stop : sentences[end].start] if end < sentence.section_end else " "
    if separator != " ":
        values[keys.WINDOW_SEPARATOR] = separator
    if joined.spans:
        values[keys.WINDOW_PARTS] = write_part_spans(joined.spans, joined.text[start:stop], start, {})
    return values


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
    metadata = document.metadata
    carried = {key: value for key, value in metadata.items() if key not in keys.CONTRACT_KEYS}
    if len(carried) == len(metadata):  # the usual case, quickly
        return carried
    whole = {keys.START_INDEX: 0, keys.END_INDEX: len(document.page_content)}
    # A document that `get` returned, perhaps edited since: this package wrote the indexes and the sentences.
    is_ours = document.id is not None and document.id == metadata.get(keys.DOC_ID)
    says_nothing = {keys.DOC_ID} if str(metadata.get(keys.DOC_ID)) == doc_id else set[str]()
    if is_ours or all(metadata.get(key, index) == index for key, index in whole.items()):
        says_nothing |= whole.keys()
    if is_ours:
        says_nothing |= {keys.SENTENCES, keys.SENTENCE_SPANS}
    for key, value in metadata.items():
        if key not in keys.CONTRACT_KEYS or key in says_nothing:
            continue
        name = keys.RENAMED + key
        while name in carried and (type(carried[name]), carried[name]) != (type(value), value):
            name = keys.RENAMED + name
        carried[name] = value
    return carried


def source_names(document: Document) -> list[str]:
    """Return the names that a retriever may know a source document by: its id, its ``doc_id``, its ``source``."""
    names = (document.id, document.metadata.get(keys.DOC_ID), document.metadata.get(keys.SOURCE))
    texts = [keys.storable_text(name) for name in names if name is not None]
    return [text for text in texts if text is not None]


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
    return str(name), int(start) if start >= 0 else None


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
"""The limits of an unknown store: it holds strings, numbers and booleans."""


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
        names = list(self._left_out)
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        warnings.warn(
            SentenceWindowWarning(
                f"metadata was left out, as {self.limits.name} can't hold it: {', '.join(names[:_MAX_NAMED])}{more}; "
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
        namespace: The name that the ingest has, which distinguishes its documents from others in the same store.
    """

    fingerprint: str
    sentences: int
    attempt: str
    namespace: str

    @classmethod
    def read(cls, metadata: Mapping[str, Any]) -> Self | None:
        """Read the state from a sentence's metadata; return ``None`` if there is none, or it can't be read."""
        match = _WRITTEN.fullmatch(str(metadata.get(keys.INGEST_STATE)))
        return None if match is None else cls(match[1], int(match[2]), match[3], match[4])

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
