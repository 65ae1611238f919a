"""What the server bears, measured."""

import pytest

from tests.faults.clients import crowded


@pytest.mark.slow
@pytest.mark.parametrize("model", ["exact", "base"])
def test_a_thousand_slow_connections_and_two_hundred_clients(model: str):
    """Short sums are answered within a second at the 99th percentile, and memory is steady."""
    crowd = crowded(model)
    assert crowd.wrong == []
    assert crowd.share(0.99) <= 1.0, str(crowd)
    assert crowd.grown < 30_000, str(crowd)
