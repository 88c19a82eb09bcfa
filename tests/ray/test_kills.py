"""An ingest whose worker, driver or database is killed is complete after a restart; `benchmarks.ray_ingest` does 50."""

from tests.ray import kills


def test_what_is_killed_is_complete_after_a_restart() -> None:
    with kills.killing(seed=0) as killer:
        rounds = [killer.round(target) for target in kills.TARGETS]
    assert [(done.faults, done.exits[-1]) for done in rounds] == [((), 0)] * 3
