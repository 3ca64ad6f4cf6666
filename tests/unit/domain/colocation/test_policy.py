import pytest

from yodel.domain.colocation.policy import Formula, Shaping


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"part_percent": 0}, "part_percent: 0, where 1 to 100 is expected"),
        ({"online_percent": 99}, "online_percent: 99, where 100 to 1000 is expected"),
        ({"most_percent": 101}, "most_percent: 101, where 0 to 100 is expected"),
        ({"static_amount": -1}, "static_amount: -1"),
    ],
)
def test_a_formula_out_of_range_cannot_be_built(numbers: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Formula(**numbers)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"window_s": 0}, "window_s: 0, where 1 to 900 is expected"),
        ({"step_up_percent": 0}, "step_up_percent: 0"),
        ({"round_cpu_milli": 0}, "round_cpu_milli: 0"),
        ({"dead_band_memory_mib": -1}, "dead_band_memory_mib: -1"),
    ],
)
def test_a_shaping_out_of_range_cannot_be_built(numbers: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Shaping(**numbers)
