"""Say what was odd about the parts of documents."""

import warnings
from collections.abc import Iterable

from langchain_sentence_window._display import shown
from langchain_sentence_window.documents.parts.joined_document import JoinedDocument
from langchain_sentence_window.errors import SentenceWindowWarning

_MAX_SHOWN = 3


def warn_of_parts(joined: Iterable[JoinedDocument], *, stacklevel: int = 3) -> None:
    """Warn once of parts that are missing, came twice or in another order.

    Args:
        joined: The documents.
        stacklevel: Which caller the warning names, as of ``warnings.warn``.
    """
    odd = [document for document in joined if document.remarks]
    if not odd:
        return
    told = [
        f"{shown(document.doc_id)}: {', '.join(document.remarks[:_MAX_SHOWN])}"
        + (f" and {len(document.remarks) - _MAX_SHOWN} more" if len(document.remarks) > _MAX_SHOWN else "")
        for document in odd[:_MAX_SHOWN]
    ]
    more = f"; and {len(odd) - _MAX_SHOWN} more documents" if len(odd) > _MAX_SHOWN else ""
    warnings.warn(
        f"the parts of a document were joined as well as could be ({'; '.join(told)}{more}); give all parts of a "
        "source in one call, each once, or switch joining off with SentenceSplitter(join_parts=False)",
        SentenceWindowWarning,
        stacklevel=stacklevel,
    )
