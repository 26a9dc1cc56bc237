"""Looks for a pattern in texts, alone in a process: a match can take for ever, and no thread ends.

Only the standard library is used, as the file is run by its path. The first line that it reads is
the pattern with its flags and its limit in seconds. Then, for each text, it reads a line that says
how long the text is, how many matches are wanted, and whether the whole of it has to match; it
prints a line of JSON. Where one text takes longer than the limit, the system ends the process.
"""

import json
import re
import signal
import sys
from itertools import islice
from typing import Any, BinaryIO

GROUPS = ("score", "tokens")
"""Groups that are told beside the id."""


def found(pattern: re.Pattern[str], text: str, most: int, *, is_whole: bool) -> list[Any]:
    """Return where the first matches begin and end, their ids and their other groups."""
    if is_whole:
        return [pattern.fullmatch(text) is not None]
    return [
        [m.start(), m.end(), _id(m), {n: v for n, v in m.groupdict().items() if n in GROUPS}]
        for m in islice(pattern.finditer(text), most)
    ]


def _id(match: re.Match[str]) -> str | None:
    groups = match.groupdict()
    value: str | None = groups["id"] if "id" in groups else match[1]
    return value


def serve(given: BinaryIO, answers: BinaryIO) -> None:
    """Answer text after text, until there is no more."""
    wanted = json.loads(given.readline())
    pattern = re.compile(wanted["pattern"], wanted["flags"])
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process
    while line := given.readline():
        asked = json.loads(line)
        text = given.read(asked["length"]).decode()
        signal.setitimer(signal.ITIMER_REAL, wanted["limit_s"])
        told = found(pattern, text, asked["most"], is_whole=asked["whole"])
        signal.setitimer(signal.ITIMER_REAL, 0)
        answers.write(json.dumps(told).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
