from __future__ import annotations

import pytest

from yodel.pb_convert.widths import int32, int64


@pytest.mark.parametrize(("fit", "bits"), [(int32, 31), (int64, 63)])
def test_what_does_not_fit_is_the_nearest_that_does(fit: object, bits: int) -> None:
    assert callable(fit)
    most, least = 2**bits - 1, -(2**bits)
    found = [fit(n) for n in (0, -1, most, least, most + 1, least - 1, 10**30, -(10**30))]
    assert found == [0, -1, most, least, most, least, most, least]
