"""The retriever's settings: one row each, and the settings that a call may give.

A row is a field. The field has a setting's name, type, default and meaning. Its `Setting` has everything else: how the
value is checked, whether a call may give it, whether an index remembers it, how a form, the command and a trace show
it, and what other libraries call it. All code that lists settings reads `SETTINGS`. To add a setting, write its field,
and its key in `CallSettings` if a call may give it. Then run ``python -m docs.settings_page``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, TypedDict

from langchain_core.documents import BaseDocumentCompressor
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field

from langchain_sentence_window._arguments import checked_reranker, checked_vectorstore
from langchain_sentence_window._checked_settings import (
    NAMES_OF_COUNT,
    NAMES_OF_LOWEST_SCORE,
    NAMES_OF_SPLITTER,
    CheckedSettings,
)
from langchain_sentence_window._validation import (
    checked_count,
    checked_min_relevance,
    checked_min_score,
    checked_weight,
    optional_count,
)
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.documents.window_fields import estimate_tokens
from langchain_sentence_window.embedding.contextual_vectors import Situate
from langchain_sentence_window.ranking.candidates import LEXICAL_WEIGHT
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, MAX_WEIGHT
from langchain_sentence_window.store.bm25_index import BM25Index
from langchain_sentence_window.windows.assembly import ORDERS, Order

from .expansion import WindowSetting
from .request import MinRelevance
from .setting_rows import (
    NOT_SETTINGS,
    CallSetting,
    Setting,
    checked_counter,
    checked_names,
    checked_ranking,
    checked_situate,
    checked_window,
)

_COUNT = "a whole number, 1 or more"


class RetrieverSettings(CheckedSettings, BaseRetriever):
    """The fields of `SentenceWindowRetriever`, in the order in which forms and the documentation show them."""

    vectorstore: Annotated[
        VectorStore,
        Setting(
            check=checked_vectorstore,
            names="store vector_store vectordb db index base_retriever retriever",
            traced=None,
            page="how-to/stores.md",
        ),
    ]
    """The store of the sentences: any LangChain vector store. ``open`` opens a `FaissStore`."""
    k: Annotated[
        int,
        CallSetting(
            check=checked_count,
            is_own_if_none=True,
            names=NAMES_OF_COUNT,
            typed=_COUNT,
            option="-k",
            control="count",
            label="Windows",
            help="The most windows to return.",
            min=1,
            max=500,
        ),
    ] = 10
    """The number of windows to return, if the store has that many and ``max_tokens`` allows them."""
    fetch_k: Annotated[
        int,
        CallSetting(
            check=checked_count,
            names="search_k num_candidates candidates initial_k prefetch n_candidates",
            typed=_COUNT,
            control="count",
            label="Sentences searched",
            help="The number of sentences in the first search. If they make too few windows, more are searched.",
            min=1,
            max=10_000,
        ),
    ] = 50
    """The number of sentences in the first search. If they make fewer than ``k`` windows, more are searched."""
    window: Annotated[
        WindowSetting,
        CallSetting(
            check=checked_window,
            is_own_if_none=True,
            is_ours=True,
            names="window_size sentence_window sentence_window_size context_window neighbors before after "
            "expand expansion",
            typed="auto, a number of sentences such as 2, or 1,6 for before and after",
            option="--window",
            control="window",
            label="Window",
            help="How far each hit is expanded: forward as far as it needs (auto), or by a number of sentences.",
            min=0,
            max=1_000,
            page="how-to/choose-a-window.md",
        ),
    ] = "auto"
    """How far each hit is expanded: ``auto`` for forward as far as it needs, a number of sentences on each side, or a
    pair ``(before, after)``. A mapping such as ``{"legal": (3, 5), "faq": 1}`` chooses by a value of the document's
    metadata; other documents get ``auto``."""
    window_key: Annotated[str | None, CallSetting(is_ours=True, typed="a key of metadata, or none")] = None
    """The metadata key for a mapping in ``window``; ``None`` for any key."""
    max_tokens: Annotated[
        int | None,
        CallSetting(
            check=optional_count,
            is_ours=True,
            names="max_context_tokens max_token token_limit max_tokens_limit budget token_budget "
            "context_size max_context_length",
            typed=_COUNT,
            option="--max-tokens",
            control="count",
            label="Token budget",
            help="The most tokens of all windows together. Neighbors are cut first, then weaker hits.",
            min=1,
            max=1_000_000,
        ),
    ] = None
    """The most tokens for all windows together; ``None`` for no limit. Small windows come first, and the rest of the
    budget widens the best of them. A window that doesn't fit loses neighbors first, then its weaker hits. If its best
    hit doesn't fit, the window is left out."""
    count_tokens: Annotated[
        Callable[[str], int],
        CallSetting(
            check=checked_counter,
            is_remembered=False,
            is_ours=True,
            names="token_counter tokenizer length_function len_function",
        ),
    ] = estimate_tokens
    """A function that counts the tokens of a text. The default estimates them by script, and counts four characters of
    English as a token."""
    lexical_weight: Annotated[
        float,
        CallSetting(
            check=checked_weight,
            is_ours=True,
            names="alpha weights weight bm25_weight sparse_weight hybrid keyword_weight hybrid_alpha hybrid_weight",
            typed="a number, 0 or more",
            control="number",
            label="Weight of words",
            help="How much words count compared with meaning. 0 ignores words.",
            min=0,
        ),
    ] = LEXICAL_WEIGHT
    """How much words count compared with meaning, 0 or more; 0 ignores words. Without a ``ranking``, this needs a store
    that searches by words, such as `FaissStore`, or ``bm25_index``."""
    order: Annotated[
        Order,
        CallSetting(
            names="sort sort_by ordering reorder order_by",
            typed="relevance, document or edges",
            control="choice",
            label="Order",
            help="Best first (relevance), as in the source (document), or best first and last (edges).",
            choices=ORDERS,
            is_advanced=True,
        ),
    ] = "relevance"
    """``relevance`` for best first, ``document`` for the order of the source, ``edges`` for best first and last."""
    min_relevance: Annotated[
        MinRelevance,
        CallSetting(
            check=checked_min_relevance,
            typed="auto, a number from 0 to 1, or none",
            control="choice",
            label="Relevance",
            help="auto leaves out windows that hardly fit the question.",
            choices=(None, "auto"),
            is_advanced=True,
            advice="min_relevance leaves out windows that hardly fit the question. Remove it to see the best windows "
            "anyway.",
            page="how-to/rank.md",
        ),
    ] = None
    """``auto`` leaves out windows that hardly fit the question, so a question on another subject returns nothing; a
    number from 0 to 1 does so below that ``relevance``. ``None`` returns ``k`` windows for any question."""
    min_score: Annotated[
        float | None,
        CallSetting(
            check=checked_min_score,
            names=NAMES_OF_LOWEST_SCORE,
            typed="a number, or none",
            control="number",
            label="Lowest similarity",
            help="The lowest similarity, such as a cosine, at which a sentence counts as a hit.",
            is_advanced=True,
            advice="Sentences below a similarity of min_score don't count. Lower it or remove it.",
        ),
    ] = None
    """The lowest similarity at which a sentence counts as a hit; ``None`` for any. The similarity is the score of the
    store's search by meaning, such as a cosine."""
    names: Annotated[
        bool | Sequence[str],
        CallSetting(
            check=checked_names,
            typed="true, false, or a list of metadata keys as JSON",
            control="names",
            label="Names",
            help="Whether documents that the question names are preferred; or metadata keys that hold more names.",
            is_advanced=True,
            page="how-to/rank.md",
        ),
    ] = True
    """Whether documents that a question names are preferred: first if it is limited to them, as in "According to the
    Travel Policy, …", and scored higher if it mentions them. Names are titles, file names and folders; if the question
    has none of these, but says where to look, also names of two words or more in a document's first lines, such as the
    parties of a contract. A list of metadata keys adds others, such as ``names=["customer"]``."""
    ranking: Annotated[
        Any,
        CallSetting(
            check=checked_ranking,
            typed="weights by signal as JSON, or none",
            control="ranking",
            label="Ranking",
            help="How the found sentences are reordered: by weighted signals, or not at all.",
            min=-MAX_WEIGHT,
            max=MAX_WEIGHT,
            is_advanced=True,
            page="how-to/rank.md",
        ),
    ] = DEFAULT_RANKING
    """How the candidates of a search are reordered: a `Ranking`, or a mapping of weights by signal. ``None`` keeps the
    order of the search."""
    filter: Annotated[
        Any,
        CallSetting(
            is_remembered=False,
            names="filters metadata_filter where pre_filter",
            control="filter",
            label="Filter",
            help='Only documents whose metadata match, such as {"year": {"$gte": 2025}}. This narrows the page\'s own '
            "filter.",
            is_advanced=True,
            advice="A filter is set, so only some of the documents are searched. Widen it or remove it.",
            page="how-to/filter.md",
        ),
    ] = None
    """A filter on everything that is read or written, in the form that the store's search takes. The filter of a call,
    in ``search_kwargs`` or of a run's configuration narrows it further."""
    reranker: Annotated[
        BaseDocumentCompressor | None,
        Setting(
            check=checked_reranker,
            names="compressor base_compressor document_compressor ranker rerank cross_encoder node_postprocessors "
            "postprocessor reranking",
            control="choice",
            label="Reranker",
            help="Sorts all windows before the best are taken.",
            page="how-to/rerank.md",
        ),
    ] = None
    """Ranks all windows again before ``k`` and ``max_tokens`` cut the list: any `BaseDocumentCompressor`."""
    bm25_index: Annotated[BM25Index | None, Setting(page="how-to/stores.md")] = None
    """Scores by words for a store that can't search by words. The first query fills the index from the store. A
    ranking compares words itself, and ignores this index."""
    search_kwargs: Annotated[
        Mapping[str, Any],
        Setting(names="search_params kwargs search_settings vector_store_kwargs"),
    ] = Field(default_factory=dict)
    """More arguments for the store's search, such as the settings of its own hybrid search. A filter among them limits
    everything that ``filter`` limits; all others affect only the search."""
    splitter: Annotated[SentenceSplitter, Setting(names=NAMES_OF_SPLITTER, traced=None, page="how-to/split.md")] = (
        Field(default_factory=SentenceSplitter)
    )
    """Splits the documents that are added."""
    embed_headings: Annotated[bool, Setting(is_remembered=True, typed="true or false", traced=None)] = True
    """Whether sentences are embedded with their heading path in front, in stores that allow it. Embedding takes longer,
    and when a heading changes, its section is embedded again. See the benchmarks page."""
    situate: Annotated[Situate | None, Setting(check=checked_situate, traced=None)] = None
    """A function, called as ``situate(document, sentence)`` for each sentence that is added. It returns a line that
    says what the sentence is about. The sentence is embedded with this line in front; the line is used nowhere else. A
    long line is cut."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    elsewhere: ClassVar[Mapping[str, str]] = NOT_SETTINGS


SETTINGS: Mapping[str, Setting] = {
    name: row
    for name, field in RetrieverSettings.model_fields.items()
    for row in field.metadata
    if isinstance(row, Setting)
}
"""The rows by name."""

OF_CALL = frozenset(name for name, row in SETTINGS.items() if row.is_of_call)
"""The settings that a call may give."""

REMEMBERED = frozenset(name for name, row in SETTINGS.items() if row.is_remembered)
"""The settings that an index may remember."""

RELATED_NAMES: Mapping[str, str] = {other: name for name, row in SETTINGS.items() for other in row.names.split()}
"""Names of settings in other retrievers of LangChain and LlamaIndex, and their names here."""

RetrieverSettings.checks = {name: row.check for name, row in SETTINGS.items() if row.check is not None}
RetrieverSettings.related = RELATED_NAMES


class CallSettings(TypedDict, total=False):
    """Settings that a single call may give: ``retriever.invoke(query, k=3, order="document")``.

    A setting that a call leaves out has the retriever's value. So does ``None`` for ``k`` and ``window``.
    """

    k: int | None
    """The number of windows to return."""
    fetch_k: int
    """The number of sentences in the first search."""
    window: WindowSetting | None
    """How far each hit is expanded."""
    window_key: str | None
    """The metadata key that a mapping in ``window`` looks at."""
    max_tokens: int | None
    """The most tokens for all windows together."""
    count_tokens: Callable[[str], int]
    """Counts the tokens of a text."""
    order: Order
    """The order in which windows are returned."""
    lexical_weight: float
    """How much words count compared with meaning."""
    min_score: float | None
    """The lowest similarity at which a sentence counts as a hit."""
    ranking: Any
    """How the candidates of a search are reordered."""
    names: bool | Sequence[str]
    """Whether documents that the question names are preferred."""
    min_relevance: MinRelevance
    """Whether windows that hardly fit the question are left out."""
    filter: Any
    """Narrows the retriever's own filter."""
