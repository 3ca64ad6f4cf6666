"""Medians, ratios and processor time of the placement figures."""

from __future__ import annotations

from bench.placement_figures import Cpu, Round, Rounds, cpu_row, median_rate, spread


def a_round(until_s: float, **seconds: float) -> Round:
    return Round(pods=100, until_s={"created": until_s, "granted": 2 * until_s}, cpu=Cpu(seconds))


def test_rates_are_pods_by_the_time_until_the_last() -> None:
    assert a_round(4.0).rate("created") == 25.0
    assert a_round(4.0).rate("granted") == 12.5


def test_one_slow_round_does_not_move_the_median() -> None:
    rounds = [a_round(1.0), a_round(100.0), a_round(2.0)]
    assert median_rate(rounds, "created") == 50.0
    assert spread(rounds, "created") == "1 to 100"


def test_a_row_names_both_ceilings_ours_and_the_ratios() -> None:
    rounds = Rounds(alone=[a_round(0.5)], beside=[a_round(1.0)], ours=[a_round(1.0)])
    row = rounds.row("grants", "created", "granted")
    assert row == "| grants | 200 (200 to 200) | 100 (100 to 100) | 50 (50 to 50) | 0.25 | 0.50 |"


def test_processor_time_is_what_was_used_since_a_pod() -> None:
    used = Cpu({"etcd": 3.0, "late": 0.2}) - Cpu({"etcd": 1.0, "gone": 9.0})
    assert used.seconds == {"etcd": 2.0, "late": 0.2}
    assert cpu_row([Round(pods=100, until_s={}, cpu=used)], ["etcd", "late", "absent"]) == ["20.0", "2.0", "–"]


def test_processes_of_two_sources_stand_side_by_side() -> None:
    assert (Cpu({"etcd": 1.0}) | Cpu({"client": 2.0})).seconds == {"etcd": 1.0, "client": 2.0}
