"""A model of what ingest and queries take: parts that were measured, and how each grows with the number of sentences.

Nothing here reads a file or a clock. A part was measured at some sizes; its growth says what lies between and beyond
them. `Part.missed` tells how far the model is off at a size if that size is left out, which is the error to expect.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

Growth = Literal["constant", "power", "linear"]
"""``constant`` is the mean, ``power`` is ``a n**b``, for graphs, and ``linear`` is ``a + b n``, for codes."""

VECTOR_OVERHEAD_BYTES = 600
"""Memory of a vector in an HNSW graph that is being built, beside its numbers."""
MEASURED_BUFFERS_GIB = 0.125
"""The ``shared_buffers`` of the database that was measured: PostgreSQL's default."""
WRITES = 2
"""Times that each byte is written while it is loaded: to the log and to its place."""


@dataclass(frozen=True)
class Part:
    """A figure of a sentence, or of a query.

    Attributes:
        name: What was measured.
        unit: Its unit.
        growth: How it grows.
        points: The figure, by the number of sentences at which it was measured.
    """

    name: str
    unit: str
    growth: Growth
    points: Mapping[int, float]

    def at(self, sentences: float) -> float:
        """The figure at a number of sentences."""
        a, b = self._fit()
        if self.growth == "power":
            return math.exp(a + b * math.log(sentences))
        return max(0.0, a + b * sentences)

    def without(self, size: int) -> "Part":
        """The part as if it hadn't been measured at a size."""
        return replace(self, points={each: value for each, value in self.points.items() if each != size})

    def missed(self, size: int) -> float:
        """How far what the other sizes say is off at a size, as a share of what was measured there."""
        return self.without(size).at(size) / self.points[size] - 1

    def _fit(self) -> tuple[float, float]:
        """``a`` and ``b`` with the least squares of relative errors; of a power, those of its logarithm."""
        if self.growth == "constant" or len(self.points) < 2:
            mean = sum(self.points.values()) / len(self.points)
            return math.log(mean) if self.growth == "power" else mean, 0.0
        if self.growth == "power":
            rows = [(1.0, math.log(size), math.log(value)) for size, value in self.points.items()]
        else:
            rows = [(1 / value**2, float(size), value) for size, value in self.points.items()]
        total = sum(weight for weight, _, _ in rows)
        x, y = (sum(row[0] * row[at] for row in rows) / total for at in (1, 2))
        slope = sum(w * (each - x) * (value - y) for w, each, value in rows) / sum(
            w * (each - x) ** 2 for w, each, _ in rows
        )
        return y - slope * x, slope


@dataclass(frozen=True)
class Parts:
    """The measured parts of a PostgreSQL.

    Attributes:
        split: CPU of a sentence, µs.
        embed: CPU of a sentence, µs.
        load: CPU of a sentence by one writer, the server's included, µs.
        build: CPU of a sentence in the index, µs.
        table: Bytes of a sentence's row.
        vectors: Bytes of a sentence in the vector index.
        others: Bytes of a sentence in the other indexes.
        pages: Pages that a search reads.
        search: CPU of a search of 200 rows, whose pages the database has in its own memory, ms.
        slow_search: The same, of 95 % of searches at most.
        first_search: CPU of a search of 200 rows as it came, ms.
        fetch: CPU of reading the sentences around the hits, ms.
        query: CPU of a whole query, the server's included, ms.
        slow_query: The same, of 95 % of queries at most.
        server: CPU of the server for a whole query, ms.
        plain: CPU of a search for ten chunks, of 95 % at most, ms.
        trips: Round trips of a whole query.
        plain_trips: Round trips of a search for chunks.
    """

    split: Part
    embed: Part
    load: Part
    build: Part
    table: Part
    vectors: Part
    others: Part
    pages: Part
    search: Part
    slow_search: Part
    first_search: Part
    fetch: Part
    query: Part
    slow_query: Part
    server: Part
    plain: Part
    trips: Part
    plain_trips: Part

    def rest(self, sentences: float) -> float:
        """CPU of a query beside its search and its fetch, ms."""
        searched, fetched = self.first_search.points, self.fetch.points
        left = {size: value - searched[size] - fetched[size] for size, value in self.query.points.items()}
        return Part("rest", "ms", "constant", left).at(sentences)

    def copy(self, buffers_gib: float) -> float:
        """CPU of getting a page from the system's memory, ms, of a database whose own memory was so large."""
        copied = {
            size: (self.first_search.points[size] - value) / (self.pages.at(size) * self._outside(size, buffers_gib))
            for size, value in self.search.points.items()
            if self._outside(size, buffers_gib)
        }
        return Part("copy", "ms", "constant", copied).at(1) if copied else 0.0

    def hot_gib(self, sentences: float, dimension: int = 384) -> float:
        """GiB of the table and of the vector index, which searches read."""
        row = self.table.at(sentences) + 4 * (dimension - 384)
        return sentences * (row + self.vectors.at(sentences) * dimension / 384) / 2**30

    def _outside(self, sentences: float, buffers_gib: float) -> float:
        return max(0.0, 1 - buffers_gib / self.hot_gib(sentences))

    def without(self, size: int) -> "Parts":
        """The parts as if nothing had been measured at a size."""
        fields = {name: part.without(size) for name, part in vars(self).items() if len(part.points) > 1}
        return replace(self, **fields)


@dataclass(frozen=True)
class EmbeddedParts:
    """The measured parts of a `FaissStore`.

    Attributes:
        ingest: CPU of a sentence, without splitting and embedding, µs.
        memory: Bytes of a sentence.
        disk: Bytes of a sentence.
        slow_query: CPU of a whole query, of 95 % of queries at most, ms.
    """

    ingest: Part
    memory: Part
    disk: Part
    slow_query: Part


@dataclass(frozen=True)
class Hardware:
    """Machines.

    Attributes:
        cores: Cores of the database.
        memory_gib: Its memory.
        buffers_gib: What of it is its own, its ``shared_buffers``; the system's holds the rest of the pages.
        workers: Cores that split and embed.
        embed_rate: Sentences a second that are embedded elsewhere, such as by all GPUs together; ``None`` to embed on
            ``workers``.
        round_trip_ms: From the program to the database and back.
        read_ms: A page that isn't in memory.
        disk_mb: Megabytes a second that its disk writes.
        speed: How fast a core is, compared with one of the machine that was measured.
    """

    cores: int = 16
    memory_gib: float = 64
    buffers_gib: float = 16
    workers: int = 16
    embed_rate: float | None = None
    round_trip_ms: float = 0.5
    read_ms: float = 0.1
    disk_mb: float = 500
    speed: float = 1.0


@dataclass(frozen=True)
class Plan:
    """The work and the time of a number of sentences on some hardware, in PostgreSQL.

    Attributes:
        sentences: Their number.
        split_s: Splitting.
        embed_s: Embedding.
        load_s: Loading by one writer, while the next sentences are embedded.
        build_s: Building the index, after that.
        disk_gib: Table and indexes.
        build_gib: Memory in which the index must be built.
        missing: Share of the pages of a search that aren't in memory.
        search_ms: The search of a query, without round trips.
        fetch_ms: Reading the sentences around the hits, likewise.
        rest_ms: Ranking, windows and the rest.
        wait_ms: Round trips, and pages that are read from the disk.
        slow_ms: What 95 % of queries take at most.
        queries_a_second: As many as the cores of the database serve.
    """

    sentences: float
    split_s: float
    embed_s: float
    load_s: float
    build_s: float
    disk_gib: float
    build_gib: float
    missing: float
    search_ms: float
    fetch_ms: float
    rest_ms: float
    wait_ms: float
    slow_ms: float
    queries_a_second: float

    @property
    def ingest_s(self) -> float:
        """All of it; sentences are loaded while others are split and embedded."""
        return max(self.split_s + self.embed_s, self.load_s) + self.build_s

    @property
    def median_ms(self) -> float:
        """The most that half of the queries take."""
        return self.search_ms + self.fetch_ms + self.rest_ms + self.wait_ms


def make_plan(parts: Parts, hardware: Hardware, sentences: float, dimension: int = 384) -> Plan:
    """Work out what sentences take.

    Args:
        parts: What was measured, with vectors of 384 numbers.
        hardware: The machines.
        sentences: The number of sentences.
        dimension: Numbers of a vector. Bytes of vectors are in proportion, and so is time of building and searching.
    """
    wide, cpu = dimension / 384, 1 / hardware.speed
    hot = parts.hot_gib(sentences, dimension)
    missing = max(0.0, 1 - hardware.memory_gib / hot)
    copied = max(0.0, 1 - hardware.buffers_gib / hot) * parts.pages.at(sentences) * parts.copy(MEASURED_BUFFERS_GIB)
    wait = parts.trips.at(sentences) * hardware.round_trip_ms
    wait += missing * parts.pages.at(sentences) * hardware.read_ms
    fetch, rest = (each * cpu for each in (parts.fetch.at(sentences), parts.rest(sentences)))
    search, slow_search = ((part.at(sentences) + copied) * cpu * wide for part in (parts.search, parts.slow_search))
    embed = parts.embed.at(sentences) * cpu / 1e6 / hardware.workers
    written = WRITES * hot * 2**30 / sentences / (1e6 * hardware.disk_mb)
    return Plan(
        sentences=sentences,
        split_s=sentences * parts.split.at(sentences) * cpu / 1e6 / hardware.workers,
        embed_s=sentences * (1 / hardware.embed_rate if hardware.embed_rate else embed),
        load_s=sentences * max(parts.load.at(sentences) * cpu / 1e6, written),
        build_s=sentences * parts.build.at(sentences) * cpu * wide / 1e6 / hardware.cores,
        disk_gib=hot + sentences * parts.others.at(sentences) / 2**30,
        build_gib=sentences * (4 * dimension + VECTOR_OVERHEAD_BYTES) / 2**30,
        missing=missing,
        search_ms=search,
        fetch_ms=fetch,
        rest_ms=rest,
        wait_ms=wait,
        slow_ms=slow_search + fetch + rest + wait,
        queries_a_second=1_000 * hardware.cores * hardware.speed / parts.server.at(sentences) / wide,
    )


def plain_slow_ms(parts: Parts, hardware: Hardware, chunks: float) -> float:
    """Return the most that 95 % of searches for ten chunks take, as SQL alone with the settings of pgvector."""
    return parts.plain.at(chunks) / hardware.speed + parts.plain_trips.at(chunks) * hardware.round_trip_ms
