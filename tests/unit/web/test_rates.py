import pytest

from searchmark.web.rates import MOST, Rates, network


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_twice_the_rate_at_once_then_one_at_a_time() -> None:
    clock = Clock()
    rates = Rates(2, clock)
    assert [rates.wait("a") for _ in range(4)] == [0, 0, 0, 0]
    assert rates.wait("a") == 0.5  # a token flows in every half a second
    clock.now += 0.25
    assert rates.wait("a") == 0.25
    clock.now += 0.25
    assert rates.wait("a") == 0
    assert rates.wait("a") == 0.5
    clock.now += 1000
    assert [rates.wait("a") for _ in range(5)] == [0, 0, 0, 0, 0.5]  # 4 tokens at most


def test_addresses_do_not_share() -> None:
    rates = Rates(0.5, Clock())
    assert rates.wait("a") == 0
    assert rates.wait("a") == 2
    assert rates.wait("b") == 0


def test_no_rate_is_no_limit() -> None:
    rates = Rates(0, Clock())
    assert {rates.wait("a") for _ in range(1000)} == {0}


def test_the_latest_addresses_are_remembered() -> None:
    rates = Rates(0.5, Clock())
    rates.wait("first")
    for i in range(MOST - 1):
        rates.wait(str(i))
    assert rates.wait("first") == 2
    for i in range(MOST):
        rates.wait(f"more {i}")
    assert rates.wait("first") == 0


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),  # one network of 2^64 addresses
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("no:address", "other:address", False),
    ],
)
def test_what_counts_as_one_client(one: str, other: str, is_same: bool) -> None:
    assert (network(one) == network(other)) is is_same
