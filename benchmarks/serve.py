"""The service under 200 clients while its dense arm is killed, hangs and comes back.

    .venv/bin/python benchmarks/serve.py [--postgres] [SECONDS, 60 by default] [CLIENTS, 200]

`searchmark serve --api` runs as a process of its own over the demo catalog; the encoder of its
dense arm is another process (benchmarks/embedder.py), killed with -9 and started again, and stopped
and continued, over and over. Every client asks one query after the other, each query once only, so
that no vector is there from before. From outside it is known what an answer must say: nothing
partial while the encoder runs, everything partial between its death (or stop) and its return, for
requests that were sent and answered within; after a return the arm may take `BACK_S` to be asked
again. Rankings are looked at too, those of the undecided moments first: a partial answer must be
that of the search by words alone, a whole one that of the fusion.

With --postgres the catalog lies in PostgreSQL, in a server started for this, and the encoder is
not the only trouble: pgvector fails, because the vectors have another length, and a document waits
in the queue, which makes an answer partial although its vectors took part. Those two end at once.
"""

import asyncio
import json
import random
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic
from urllib.parse import quote

from searchmark.project import read_project
from searchmark.web.service import Asked, open_served
from troubles import Encoder, Trouble, database, in_memory, in_postgres

LIMIT = 5

WORDS = """
weather forecast temperature rain wind air quality index city data live news search image text map
route price token market email send document translation speech music video file storage identity
check company address code risk report history daily hourly sensor score summary model agent stock
currency exchange rate travel flight hotel food health legal game sport
"""
"""Words that the catalog has; 65 of them make 260,000 queries of three."""

KINDS = ("killed", "broken", "waiting", "hung")

ENOUGH = 20
"""So many answers are waited for in every trouble, and after it."""

LONGEST_S = 180.0
"""Where no time is given it ends by then, whatever is still to be waited for."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One request: when it was sent and answered, what came."""

    query: str
    sent: float
    answered: float
    status: int
    partial: bool | None
    ids: tuple[str, ...]


@dataclass(slots=True)
class Outage:
    """From when to when answers have to be partial; from `since` to `until` they may be."""

    kind: str
    since: float
    start: float
    end: float = float("inf")
    until: float = float("inf")


@dataclass(slots=True)
class Rehearsal:
    """What happened: replies, requests that were never answered, outages, the service's memory.

    `other` are the replies, among those compared, whose ranking is not the one that they claim.
    Nobody asks after `until`.
    """

    replies: list[Reply] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    seconds: float = 0.0
    peak_mb: float = 0.0
    n_compared: int = 0
    other: list[Reply] = field(default_factory=list)
    until: float = float("inf")

    def must_be(self, reply: Reply) -> bool | None:
        """Return what `partialResults` must be; None where it cannot be told from outside."""
        for outage in self.outages:
            if outage.start <= reply.sent and reply.answered <= outage.end:
                return True
            if reply.answered >= outage.since and reply.sent <= outage.until:
                return None
        return False

    def may_wait(self, reply: Reply) -> bool:
        """Tell whether a document may have waited to be embedded: partial, and yet fused."""
        waits = [o for o in self.outages if o.kind == "waiting"]
        return any(reply.answered >= o.since and reply.sent <= o.until for o in waits)

    def wrong(self) -> list[Reply]:
        """Return the replies that say the wrong thing."""
        told = [(self.must_be(r), r) for r in self.replies if r.status == 200]
        return [r for must, r in told if must is not None and r.partial is not must]


def queries(seed: int) -> Iterator[str]:
    """Yield queries without end, no two alike: one to three words of the catalog."""
    words = WORDS.split()
    draw, seen = random.Random(seed), set[str]()
    while True:
        query = " ".join(draw.sample(words, draw.choice((1, 2, 2, 3, 3, 3, 3, 3))))
        if query not in seen:
            seen.add(query)
            yield query


async def client(url: str, asked: Iterator[str], seen: Rehearsal) -> None:
    """Ask one query after the other over one connection."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        while monotonic() < seen.until:
            query = next(asked)
            sent = monotonic()
            path = f"/discovery/search?query={quote(query)}&limit={LIMIT}"
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            try:
                status, body = await asyncio.wait_for(read_answer(reader), 30)
            except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError) as error:
                seen.lost.append(f"{query}: {error!r}")
                return
            ids = tuple(r["resource"] for r in body.get("resources", ()))
            partial = body.get("partialResults")
            seen.replies.append(Reply(query, sent, monotonic(), status, partial, ids))
    finally:
        writer.close()


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, dict]:  # type: ignore[type-arg]
    """Return status and JSON of one answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(head.split("content-length: ")[1].split("\r\n")[0])
    return int(head.split(" ")[1]), json.loads(await reader.readexactly(length))


async def trouble(troubles: Sequence[Trouble], seen: Rehearsal, calm_s: float) -> None:
    """Make one trouble after the other, with calm in between; end calmly."""
    loop = asyncio.get_running_loop()
    for one in troubles:
        out_s = calm_s + one.longer_s
        if monotonic() + calm_s + out_s + one.back_s + 1 > seen.until:
            break
        await asyncio.sleep(calm_s)
        since = monotonic()
        await loop.run_in_executor(None, one.begin)
        outage = Outage(one.kind, since, monotonic())
        seen.outages.append(outage)
        await asyncio.sleep(out_s)
        await felt(seen, outage.start)
        outage.end = monotonic()
        await loop.run_in_executor(None, one.end)
        outage.until = (outage.end if one.back_s else monotonic()) + one.back_s
        await asyncio.sleep(one.back_s)
    await felt(seen, monotonic())


async def felt(seen: Rehearsal, since: float) -> None:
    """Wait until some requests that were sent after a moment are answered, however slow it is."""
    while monotonic() < seen.until:
        if sum(r.sent >= since for r in reversed(seen.replies[-1000:])) >= ENOUGH:
            return
        await asyncio.sleep(0.1)


async def storm(
    url: str, troubles: Sequence[Trouble], seconds: float | None, clients: int, calm_s: float
) -> Rehearsal:
    """Let all clients ask while there is trouble: for some time, or till each kind was there."""
    seen, asked = Rehearsal(), queries(7)
    start = monotonic()
    seen.until = start + (seconds or LONGEST_S)
    jobs = [asyncio.create_task(client(url, asked, seen)) for _ in range(clients)]
    await trouble(list(troubles) * (1000 if seconds else 1), seen, calm_s)
    if not seconds:
        seen.until = monotonic()
    await asyncio.gather(*jobs)
    seen.seconds = monotonic() - start
    return seen


def rehearse(
    seconds: float | None,
    clients: int = 200,
    *,
    n_compared: int = 300,
    dsn: str = "",
    calm_s: float = 3.0,
    kinds: Sequence[str] = KINDS,
) -> Rehearsal:
    """Run it all, and return what was seen."""
    encoder = Encoder()
    try:
        with TemporaryDirectory() as name:
            folder = Path(name)
            opened = in_postgres(folder, encoder, dsn) if dsn else in_memory(folder, encoder)
            with opened as served:
                troubles = [one for one in served.troubles if one.kind in kinds]
                seen = asyncio.run(storm(served.url, troubles, seconds, clients, calm_s))
                status = Path(f"/proc/{served.process.pid}/status")
                if status.exists():
                    peak = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
                    seen.peak_mb = int(peak.split()[1]) / 1024
            compare(seen, folder, n_compared, dsn=dsn)
            return seen
    finally:
        encoder.send(signal.SIGKILL)


def compare(seen: Rehearsal, folder: Path, n: int, *, dsn: str) -> None:
    """Hold replies against the systems of the project, asked here: what nobody can tell first."""
    project, draw = read_project(folder), random.Random(11)
    replies = draw.sample(seen.replies, len(seen.replies))
    replies.sort(key=lambda r: seen.must_be(r) is not None)
    half = len([r for r in replies if seen.must_be(r) is None][: n // 2])
    chosen = [*replies[:half], *replies[len(replies) - (n - half) :]]
    with (
        open_served(project, Asked("words" if dsn else "keyword"), None) as words,
        open_served(project, Asked("hybrid"), None) as both,
    ):
        for reply in chosen:
            right = [words if reply.partial else both]
            if reply.partial and seen.may_wait(reply):
                right = [both] if seen.must_be(reply) else [words, both]
            found = [one.catalog.search(reply.query, LIMIT).found for one in right]
            if reply.ids not in [tuple(f.doc_id for f in page) for page in found]:
                seen.other.append(reply)
    seen.n_compared = len(chosen)


def main() -> None:
    """Print the table."""
    given = [one for one in sys.argv[1:] if one != "--postgres"]
    seconds = float(given[0]) if given else 60.0
    clients = int(given[1]) if len(given) > 1 else 200
    with database() if "--postgres" in sys.argv else nullcontext("") as dsn:
        seen = rehearse(seconds, clients, n_compared=2000, dsn=dsn)
    took = sorted(r.answered - r.sent for r in seen.replies)
    for outage in seen.outages:
        print(f"{outage.kind} for {outage.end - outage.start:.1f} s")
    statuses = sorted({r.status for r in seen.replies})
    decided = [r for r in seen.replies if seen.must_be(r) is not None]
    print(f"{len(seen.replies):,} answers in {seen.seconds:.0f} s, {len(seen.lost)} lost")
    print(
        f"statuses {statuses}; median {median(took) * 1000:.0f} ms, "
        f"p95 {took[int(len(took) * 0.95)] * 1000:.0f} ms, longest {took[-1]:.2f} s"
    )
    print(
        f"partial: {sum(bool(r.partial) for r in seen.replies):,}; decided from outside "
        f"{len(decided):,}, of which {len(seen.wrong())} wrong"
    )
    print(
        f"{seen.n_compared:,} rankings compared with the systems' own, {len(seen.other)} differ; "
        f"the service took {seen.peak_mb:.0f} MB at most"
    )


if __name__ == "__main__":
    main()
