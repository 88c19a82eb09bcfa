"""`PdfProcess`: reads untrusted PDFs in a child process, with limits on memory and time.

PDFium is a large library in C++, and a file can make it overflow its stack or exhaust the memory. Such a file ends only
the child process, which is started again for the next file.

The processes exchange JSON and plain bytes, so a child that a file has taken over can't make the caller run code.
"""

import io
import json
import os
import struct
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from queue import SimpleQueue
from typing import IO, Any, Self

from langchain_core.documents import Document

from langchain_sentence_window.errors import (
    DocumentReadError,
    InvalidInputError,
    SentenceWindowError,
    SentenceWindowWarning,
)
from sentence_window.files.file_bytes import FileBytes
from sentence_window.files.pdf.page_documents import PagedSentence, PagePiece

MAX_MEMORY_BYTES = 2 * 1024**3
"""Bytes of memory that reading a file may take; enforced on Linux only."""

MIN_SECONDS = 60.0
"""Seconds that even a small file may take."""

BYTES_PER_SECOND = 10_000
"""A file may take one more second for this many bytes, several times what pages full of text take."""

MAX_SECONDS = 1_800.0
"""The most seconds that any file may take."""

# Nothing is imported from the working folder, and Ctrl+C is left to the caller.
_START = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.path[:] = sys.argv[2:]; "
    f"from {__name__} import serve; serve(int(sys.argv[1]))"
)
_ERRORS: Mapping[str, Callable[..., Exception]] = {
    each.__name__: each for each in (DocumentReadError, InvalidInputError, RuntimeError)
}
_CURE = "let this program start processes"
_SIZES = struct.Struct(">QQ")


class PdfProcessError(DocumentReadError):
    """The process that reads PDFs can't be started."""


@dataclass(frozen=True, slots=True)
class PdfBytes:
    """A PDF whose bytes are read when they are needed.

    Attributes:
        name: Its name in messages.
        key: Identifies its content, so that a file that the process already has isn't sent again.
        read: Returns its bytes.
        size: Their number.
    """

    name: str
    key: str
    read: Callable[[], bytes]
    size: int


@dataclass(slots=True)
class PdfProcess:
    """A process that reads PDFs one at a time. It starts with the first file; close it after use.

    Threads may share it. After a fork, the forked process starts its own.

    Attributes:
        memory_bytes: See `MAX_MEMORY_BYTES`.
        min_seconds: See `MIN_SECONDS`.
    """

    memory_bytes: int = MAX_MEMORY_BYTES
    min_seconds: float = MIN_SECONDS
    _child: "_Child | None" = None
    _lock: Any = field(default_factory=threading.Lock)
    _owner: int = field(default_factory=os.getpid)

    def __enter__(self) -> Self:
        """Return the process."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()

    def close(self) -> None:
        """End the process; it starts again if another file is read."""
        with self._own_lock():
            self._end()

    def load(self, file: FileBytes, name: str) -> list[Document]:
        """Load a PDF as `PDFLoader` does, and emit its warnings in this process.

        Args:
            file: Its bytes and its state.
            name: Its name in messages.

        Raises:
            DocumentReadError: It can't be read, or exceeds the limits on memory or time.
            PdfProcessError: The process can't be started.
        """
        pdf = PdfBytes(name, file.state.sha256, lambda: file.data, file.state.size)
        pages, _ = self._ask("load", pdf)
        return [Document(page_content=text, metadata=metadata) for text, metadata in pages]

    def page_sizes(self, pdf: PdfBytes) -> list[tuple[float, float]]:
        """Return the width and the height of each page, see `PdfFile.page_sizes`; the errors are those of `load`."""
        sizes, _ = self._ask("page_sizes", pdf)
        return [(width, height) for width, height in sizes]

    def picture(self, pdf: PdfBytes, number: int, width: int, max_pixels: int) -> bytes:
        """Return a page as PNG, see `PdfFile.render`.

        Raises:
            InvalidInputError: There is no such page.
            DocumentReadError: See `load`, as for the other errors.
        """
        return self._ask("picture", pdf, number=number, width=width, max_pixels=max_pixels)[1]

    def boxes(self, pdf: PdfBytes, sentences: Sequence[PagedSentence]) -> list[list[list[float]]]:
        """Return the boxes of each sentence in fractions of its page, see `locate_in`.

        Raises:
            InvalidInputError: The text of a page differs from that of the sentences.
            DocumentReadError: See `load`, as for the other errors.
        """
        found: list[list[list[float]]] = self._ask("boxes", pdf, paged=sentences)[0]
        return found

    def _ask(self, operation: str, pdf: PdfBytes, **arguments: Any) -> tuple[Any, bytes]:
        with self._own_lock():
            child = self._started()
            data = b"" if child.held == pdf.key else pdf.read()
            request = {"operation": operation, "name": pdf.name, "has_file": child.held != pdf.key, **arguments}
            child.held = pdf.key
            limit = min(MAX_SECONDS, self.min_seconds + pdf.size / BYTES_PER_SECOND)
            try:
                reply, payload = child.answer(request, data, limit)
            except EOFError as error:
                self._end()
                cause = f"it crashes its reader, or takes more than {self.memory_bytes // 1024**2:,} MiB of memory"
                if child.is_late:
                    cause = f"reading it takes more than {limit:,.0f} seconds"
                raise DocumentReadError(
                    f"{pdf.name} can't be read: {cause}; save it again with another program, or leave it out"
                ) from error
            except BaseException:  # an interrupt, after which the answer would arrive late
                self._end()
                raise
        for message in reply["warnings"]:
            warnings.warn(message, SentenceWindowWarning, stacklevel=3)
        if "error" in reply:
            raise _ERRORS[reply["error"]](*reply["arguments"])
        return reply["result"], payload

    def _own_lock(self) -> Any:
        """Return the lock; a new one after a fork, as a thread that no longer exists may have held the other."""
        if self._owner != os.getpid():
            self._lock, self._owner = threading.Lock(), os.getpid()
        return self._lock

    def _started(self) -> "_Child":
        if self._child is not None and not self._child.is_usable:
            self._end()
        if self._child is None:
            self._child = _Child(self.memory_bytes)
            try:
                self._child.greet()
            except BaseException:
                self._end()
                raise
        return self._child

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


class _Child:
    """The child process, as the caller sees it.

    Attributes:
        end: Ends it; called at the latest when it is garbage collected.
        held: The key of the file that it has open; empty for none.
        is_late: Whether it was ended because it took too long.
    """

    def __init__(self, memory_bytes: int) -> None:
        self.held = ""
        self.is_late = False
        self._owner = os.getpid()
        command = [sys.executable, "-I", "-c", _START, str(memory_bytes), *sys.path]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the running interpreter
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )
        except OSError as error:
            raise PdfProcessError(f"the process that reads PDFs can't be started: {error}; {_CURE}") from error
        self.end = weakref.finalize(self, _end, self._process, self._owner)

    @property
    def is_usable(self) -> bool:
        """Whether it runs, and this process started it."""
        return self._owner == os.getpid() and self._process.poll() is None

    def greet(self) -> None:
        """Wait until it is ready."""
        try:
            self.answer({"operation": "greet", "name": "", "has_file": False}, b"", MAX_SECONDS)
        except EOFError as error:
            raise PdfProcessError(
                f"the process that reads PDFs ended with {self._process.wait()} before the first file; {_CURE}"
            ) from error

    def answer(self, request: Mapping[str, Any], data: bytes, limit: float) -> tuple[Any, bytes]:
        """Send a request and return the answer.

        Raises:
            EOFError: The process has ended.
        """
        timer = threading.Timer(limit, self._expire)
        timer.daemon = True
        timer.start()
        try:
            assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018 - pipes
            _write(self._process.stdin, request, data)
            return _read(self._process.stdout)
        except (BrokenPipeError, ConnectionError) as error:
            raise EOFError from error
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self.is_late = True
        self._process.kill()


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """End a process if this one started it, rather than a process from which this one was forked."""
    is_ours = owner == os.getpid()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # unsent bytes aren't needed
                pipe.close()
    if is_ours:
        process.kill()
        process.wait()
    else:
        process.returncode = 0  # so that `subprocess` doesn't wait for it


def serve(memory_bytes: int) -> None:
    """Answer requests until the caller ends; the main function of the child process.

    Args:
        memory_bytes: The most bytes of memory that it may take.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # the output of libraries must not mix with the answers
    requests: SimpleQueue[tuple[dict[str, Any], bytes]] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests,), daemon=True).start()
    _limit_memory(memory_bytes)
    reader = _FileReader()
    while True:
        request, data = requests.get()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            reply, payload = reader.answer(request, data)
        reply["warnings"] = [str(each.message) for each in caught if each.category is SentenceWindowWarning]
        _write(answers, reply, payload)


class _FileReader:
    """The open file, in the child process."""

    def __init__(self) -> None:
        self._data = b""
        self._file: Any = None

    def answer(self, request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        if request["has_file"]:
            file, self._file, self._data = self._file, None, data
            if file is not None:
                file.close()
        try:
            result, payload = self._do(request)
        except SentenceWindowError as error:
            kind = InvalidInputError if isinstance(error, InvalidInputError) else DocumentReadError
            return _failed(kind, str(error)), b""
        except MemoryError:  # PDFium may be in an undefined state
            os._exit(1)
        except Exception as error:  # noqa: BLE001 - one unusual file must not end the process
            return _failed(RuntimeError, f"{type(error).__name__}: {error}"), b""
        return {"result": result}, payload

    def _do(self, request: dict[str, Any]) -> tuple[Any, bytes]:
        match request["operation"]:
            case "greet":
                return None, b""
            case "load":
                from .pdf_loader import read_pdf

                pages = read_pdf(self._data, request["name"])
                return [(page.page_content, page.metadata) for page in pages], b""
            case "page_sizes":
                return self._opened(request["name"]).page_sizes(), b""
            case "picture":
                return None, self._picture(request)
            case _:
                return self._boxes(request), b""

    def _picture(self, request: dict[str, Any]) -> bytes:
        file = self._opened(request["name"])
        number, written = request["number"], io.BytesIO()
        if number >= file.page_count:
            raise InvalidInputError(f"{file.name} has {file.page_count} pages; ask for one of them")
        picture = file.render(number, request["width"], request["max_pixels"])
        picture.convert("RGB").save(written, "PNG", compress_level=1)
        return written.getvalue()

    def _boxes(self, request: dict[str, Any]) -> list[list[tuple[float, ...]]]:
        from .sentence_places import locate_in

        sentences = [
            PagedSentence(**{**each, "pieces": tuple(PagePiece(**piece) for piece in each["pieces"])})
            for each in request["paged"]
        ]
        found = locate_in(self._opened(request["name"]), sentences)
        return [[(box.x0, box.y0, box.x1, box.y1) for box in each.boxes] for each in found]

    def _opened(self, name: str) -> Any:
        from .pdf_file import open_pdf

        if self._file is None:
            self._file = open_pdf(self._data, name=name)
        return self._file


def _failed(kind: type[Exception], *arguments: str) -> dict[str, Any]:
    return {"error": kind.__name__, "arguments": arguments}


def _receive(requests: "SimpleQueue[tuple[dict[str, Any], bytes]]") -> None:
    """Queue requests; end this process when the caller has ended, even while it reads a file."""
    try:
        while True:
            requests.put(_read(sys.stdin.buffer))
    finally:
        os._exit(0)


def _limit_memory(size: int) -> None:
    if sys.platform == "linux":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = size if most == resource.RLIM_INFINITY else min(most, size)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no core dumps


def _write(pipe: IO[bytes], message: Mapping[str, Any], data: bytes) -> None:
    written = json.dumps(message, default=asdict).encode()
    pipe.write(_SIZES.pack(len(written), len(data)))
    pipe.write(written)
    pipe.write(data)
    pipe.flush()


def _read(pipe: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    """Read a message.

    Raises:
        EOFError: The other process has ended.
    """
    message, data = _SIZES.unpack(_exactly(pipe, _SIZES.size))
    found: dict[str, Any] = json.loads(_exactly(pipe, message))
    return found, _exactly(pipe, data)


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    found = pipe.read(size)
    if len(found) < size:
        raise EOFError
    return found
