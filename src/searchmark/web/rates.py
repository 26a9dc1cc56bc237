"""How many requests of one address are answered: a bucket of tokens each."""

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

MOST = 10_000
"""So many addresses are remembered, the latest ones."""


class Rates:
    """Tokens flow in at `per_second`, and twice as many are there at most; each request takes one.

    Not made for several threads.
    """

    def __init__(self, per_second: float, clock: Callable[[], float] = monotonic) -> None:
        self._per_second, self._most, self._clock = per_second, max(1.0, 2 * per_second), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Take a token and return 0; where there is none, return in how many seconds there is."""
        if not self._per_second:
            return 0.0
        name, now = network(address), self._clock()
        tokens, before = self._buckets.pop(name, (self._most, now))
        tokens = min(self._most, tokens + (now - before) * self._per_second)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / self._per_second
        self._buckets[name] = (tokens if wait else tokens - 1, now)
        if len(self._buckets) > MOST:
            self._buckets.popitem(last=False)
        return wait


def network(address: str) -> str:
    """Return what counts as one client: an IPv4 address, or the network of an IPv6 address."""
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found) >> 64 << 64, 64)))
