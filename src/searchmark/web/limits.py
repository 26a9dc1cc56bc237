"""How much of what the service takes and does."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one service.

    `page` results come at most in one answer, `usual_page` where no limit is asked for. Of one
    client address `per_second` requests are answered in the long run, twice as many at once; 0 sets
    no such limit. `threads` searches run at once and `waiting` requests wait for them; an answer
    that takes longer than `time_s` is given up.
    """

    page: int = 100
    usual_page: int = 20
    query_chars: int = 1000
    value_chars: int = 200
    cursor_chars: int = 8000
    url_bytes: int = 65_536
    body_bytes: int = 65_536
    per_second: float = 200.0
    threads: int = 8
    waiting: int = 1000
    time_s: float = 10.0
