"""The model of the cost of ingest and queries, compared with numbers worked out by hand."""

import math
from dataclasses import replace

import pytest

from benchmarks import plan
from benchmarks.plan_model import Growth, Hardware, Part, Parts, make_plan, plain_slow_ms


def part(value: float) -> Part:
    return Part("any", "", "constant", {1_000: value, 10_000: value})


PARTS = Parts(
    split=part(10),
    embed=part(1_000),
    load=part(20),
    build=part(100),
    table=part(1_048_576),
    vectors=part(1_048_576),
    others=part(0),
    pages=part(500),
    search=part(4),
    slow_search=part(9),
    first_search=part(4),
    fetch=part(1),
    query=part(7),
    slow_query=part(12),
    server=part(5),
    plain=part(2),
    trips=part(2),
    plain_trips=part(4),
)
IDEAL = Hardware(cores=1, memory_gib=1e9, buffers_gib=1e9, workers=1, round_trip_ms=0, disk_mb=math.inf)


@pytest.mark.parametrize(
    ("growth", "points", "size", "expected"),
    [
        ("constant", {1: 3.0, 10: 5.0}, 10**9, 4.0),
        ("power", {10: 5.0, 100: 10.0}, 10_000, 40.0),  # twice as much for each power of ten
        ("power", {7: 5.0}, 100, 5.0),
        ("linear", {1: 5.0, 2: 8.0}, 100, 302.0),
        ("linear", {7: 5.0}, 100, 5.0),
    ],
)
def test_a_part_grows_as_declared(growth: Growth, points: dict[int, float], size: int, expected: float) -> None:
    assert Part("any", "", growth, points).at(size) == pytest.approx(expected)


def test_work_is_divided_among_workers_and_concurrent_steps_count_once() -> None:
    made = make_plan(PARTS, replace(IDEAL, workers=4, cores=2, speed=2.0), 1e6)
    assert (made.split_s, made.embed_s) == pytest.approx((10 / 8, 1_000 / 8))
    assert (made.load_s, made.build_s) == pytest.approx((10, 100 / 4))
    assert made.ingest_s == pytest.approx(1_010 / 8 + 25)
    fast = make_plan(PARTS, replace(IDEAL, embed_rate=1e6), 1e6)
    assert fast.embed_s == pytest.approx(1)
    assert fast.ingest_s == pytest.approx(20 + 100)  # 10 + 1 s of splitting and embedding are over before
    slow_disk = make_plan(PARTS, replace(IDEAL, disk_mb=1), 1e6)
    assert slow_disk.load_s == pytest.approx(1e6 * 2 * 2.097152)


def test_a_query_waits_for_the_network_and_for_pages_that_are_not_in_memory() -> None:
    near = make_plan(PARTS, IDEAL, 1_024)
    assert (near.search_ms, near.fetch_ms, near.rest_ms, near.wait_ms) == pytest.approx((4, 1, 2, 0))
    assert (near.median_ms, near.slow_ms, near.queries_a_second) == pytest.approx((7, 12, 200))
    far = make_plan(PARTS, replace(IDEAL, round_trip_ms=3), 1_024)
    assert (far.median_ms, far.slow_ms) == pytest.approx((13, 18))
    # 1,024 rows and their vectors take 2 GiB, of which half are in memory.
    small = make_plan(PARTS, replace(IDEAL, memory_gib=1, read_ms=0.1), 1_024)
    assert (small.disk_gib, small.missing, small.wait_ms) == pytest.approx((2, 0.5, 25))
    assert plain_slow_ms(PARTS, replace(IDEAL, round_trip_ms=3), 1e6) == pytest.approx(14)


def test_the_largest_size_that_was_measured_is_predicted_by_the_smaller_ones() -> None:
    parts = plan.read_parts(plan.MEASURED / "postgres.json")
    *smaller, largest = plan.sizes(parts)
    assert len(smaller) >= 2
    off = plan.checked(parts, largest)
    assert all(abs(share) < 0.5 for share in off.values()), off
    # A thousand times as many sentences take longer, but far less than a thousand times as long.
    small, large = (make_plan(parts, Hardware(memory_gib=1e6), size) for size in (1e6, 1e9))
    assert small.slow_ms < large.slow_ms < 5 * small.slow_ms
