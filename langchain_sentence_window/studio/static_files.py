"""The files of the page: read from this package once, and served from memory."""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def routes() -> list[BaseRoute]:
    """Return the routes of the page itself and of its files."""
    return [Route("/", _index), Route("/static/{name:path}", _file)]


@cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Return the content and the type of each file, by its name below ``static``."""
    found: dict[str, tuple[bytes, str]] = {}
    _collect(files("langchain_sentence_window.studio") / "static", "", found)
    return found


def _collect(folder: Traversable, prefix: str, found: dict[str, tuple[bytes, str]]) -> None:
    for each in folder.iterdir():
        if each.is_dir():
            _collect(each, f"{prefix}{each.name}/", found)
        elif (kind := TYPES.get(each.name.rpartition(".")[2])) is not None:
            found[prefix + each.name] = (each.read_bytes(), kind)


async def _index(_: Request) -> Response:
    return _served("index.html")


async def _file(request: Request) -> Response:
    return _served(request.path_params["name"])


def _served(name: str) -> Response:
    if name not in static_files():
        return Response("there is no such file", 404, media_type="text/plain")
    content, kind = static_files()[name]
    return Response(content, headers={"Content-Type": kind, "Cache-Control": "no-cache"})
