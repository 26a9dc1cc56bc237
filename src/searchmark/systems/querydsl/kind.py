"""What makes a kind of system of an engine that is asked in the query DSL."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Context, Kind, System
from searchmark.systems.querydsl.config import Config, find_problems
from searchmark.systems.querydsl.system import OpenClient, open_system


def engine_kind(config: type[Config], package: str, client: Callable[[], OpenClient]) -> Kind:
    """Return the kind of an engine: its keys, its client's package, and what opens the client."""

    @contextmanager
    def open_engine(name: str, config: Config, context: Context) -> Iterator[System]:
        """Read the template and make the client; the engine is asked at the first search."""
        with open_system(name, config, context, package, client) as system:
            yield system

    return Kind(
        config,
        open_engine,
        find_problems,
        calls=CallPolicy(timeout_s=30, retries=3, warmup=1),
        keeps_time=True,
    )
