"""Write the tables of the page "Settings of the retriever" from the rows of the registry.

    python -m docs.settings_page

Run it from the root of the repository when a setting changes; a test compares.
"""

import ast
import inspect
import re
from itertools import pairwise
from pathlib import Path

from langchain_sentence_window._display import described
from langchain_sentence_window.retrieval.settings import SETTINGS, RetrieverSettings

DOCS = Path(__file__).parent
PAGE = DOCS / "settings.md"

HEAD = "| setting | meaning | default |\n|---|---|---|\n"
_TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)+")


def with_tables(page: str) -> str:
    """Return the page with its tables: the settings that a call may give, and all others."""
    tables = [_table(of_call=True), _table(of_call=False)]
    return _TABLE.sub(lambda _: tables.pop(0), page)


def meanings() -> dict[str, str]:
    """Return what the fields of the retriever mean, by name: their docstrings, on a line."""
    body = [each for each in ast.walk(ast.parse(inspect.getsource(RetrieverSettings))) if isinstance(each, ast.stmt)]
    fields = next(each.body for each in body if isinstance(each, ast.ClassDef))
    return {
        field.target.id: " ".join(str(text.value.value).split())
        for field, text in pairwise(fields)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


def _table(*, of_call: bool) -> str:
    meaning = meanings()
    names = [name for name, row in SETTINGS.items() if row.is_of_call is of_call]
    return HEAD + "".join(
        f"| `{name}` | {_as_markdown(meaning[name])}{_link(name)} | {_default(name)} |\n" for name in names
    )


def _as_markdown(meaning: str) -> str:
    """Write reStructuredText's literals, and names of this package, as Markdown has them."""
    return meaning.replace("``", "`").replace("|", "\\|")


def _link(name: str) -> str:
    page = SETTINGS[name].page
    if not page:
        return ""
    title = (DOCS / page).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    return f" See [{title}]({page})."


def _default(name: str) -> str:
    field = RetrieverSettings.model_fields[name]
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    written = (
        "DEFAULT_RANKING" if name == "ranking" else f'"{default}"' if isinstance(default, str) else described(default)
    )
    return f"`{written}`"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
