"""The service under 200 clients while its dense arm is killed, hangs and comes back.

    .venv/bin/python benchmarks/serve.py [seconds, 60 by default] [clients, 200 by default]

`searchmark serve --api` runs as a process of its own over the demo catalog; the encoder of its
dense arm is another process (benchmarks/embedder.py), killed with -9 and started again, and stopped
and continued, over and over. Every client asks one query after the other, each query once only, so
that no vector is there from before. From outside it is known what an answer must say: nothing
partial while the encoder runs, everything partial between its death (or stop) and its return, for
requests that were sent and answered within; after a return the arm may take `BACK_S` to be asked
again. Rankings are looked at too, those of the undecided moments first: a partial answer must be
that of the search by words alone, a whole one that of the fusion.
"""

import asyncio
import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic
from urllib.parse import quote

from searchmark.demo import place
from searchmark.project import read_project
from searchmark.web.service import Asked, open_served

HERE = Path(__file__).resolve().parent
LIMIT = 5

BACK_S = 3.0
"""So long after the encoder's return an answer may still be partial."""

WORDS = """
weather forecast temperature rain wind air quality index city data live news search image text map
route price token market email send document translation speech music video file storage identity
check company address code risk report history daily hourly sensor score summary model agent stock
currency exchange rate travel flight hotel food health legal game sport
"""
"""Words that the catalog has; 65 of them make 260,000 queries of three."""

HANGS_S = 3.0
"""A hung encoder hangs for so much longer than a killed one is away: searches wait for it first."""

ENDPOINT = """
[systems.dense.endpoint]
url = "http://127.0.0.1:{port}/v1"
model = "hashed"
"""


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
    """From when to when the encoder did not answer."""

    kind: str
    start: float
    end: float = float("inf")


@dataclass(slots=True)
class Rehearsal:
    """What happened: replies, requests that were never answered, outages, the service's memory.

    `other` are the replies, among those compared, whose ranking is not the one that they claim.
    """

    replies: list[Reply] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    seconds: float = 0.0
    peak_mb: float = 0.0
    n_compared: int = 0
    other: list[Reply] = field(default_factory=list)

    def must_be(self, reply: Reply) -> bool | None:
        """Return what `partialResults` must be; None where it cannot be told from outside."""
        for outage in self.outages:
            if outage.start <= reply.sent and reply.answered <= outage.end:
                return True
            if reply.answered >= outage.start and reply.sent <= outage.end + BACK_S:
                return None
        return False

    def wrong(self) -> list[Reply]:
        """Return the replies that say the wrong thing."""
        told = [(self.must_be(r), r) for r in self.replies if r.status == 200]
        return [r for must, r in told if must is not None and r.partial is not must]


class Encoder:
    """The process of the encoder; the port stays the same."""

    def __init__(self) -> None:
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, str(HERE / "embedder.py"), str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        with self._process.stdout as told:
            self.port = int(told.readline())

    def send(self, number: signal.Signals) -> None:
        """Send a signal; after a kill the process is gone when this returns."""
        self._process.send_signal(number)
        if number == signal.SIGKILL:
            self._process.wait()


@contextmanager
def service(
    folder: Path, encoder: Encoder, *options: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve the demo with the encoder behind an endpoint; give address and process."""
    place(folder)
    project = folder / "searchmark.toml"
    text = project.read_text(encoding="utf-8")
    mark = "# What users get"
    project.write_text(text.replace(mark, ENDPOINT.format(port=encoder.port) + mark), "utf-8")
    command = [sys.executable, "-c", "from searchmark.cli.main import main; main()"]
    command += ["serve", "--api", str(folder), "--port", "0", "--rate", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert line.startswith("serving"), line
        yield line.split(" at ")[1].split("/discovery")[0], process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stderr.close()


def queries(seed: int) -> Iterator[str]:
    """Yield queries without end, no two alike: one to three words of the catalog."""
    words = WORDS.split()
    draw, seen = random.Random(seed), set[str]()
    while True:
        query = " ".join(draw.sample(words, draw.choice((1, 2, 2, 3, 3, 3, 3, 3))))
        if query not in seen:
            seen.add(query)
            yield query


async def client(url: str, asked: Iterator[str], until: float, seen: Rehearsal) -> None:
    """Ask one query after the other over one connection."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        while monotonic() < until:
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


async def trouble(encoder: Encoder, seen: Rehearsal, until: float, calm_s: float) -> None:
    """Kill and start, stop and continue, with calm in between; end calmly."""
    loop = asyncio.get_running_loop()
    kinds = iter(["killed", "hung"] * 1000)
    while True:
        kind = next(kinds)
        out_s = calm_s if kind == "killed" else calm_s + HANGS_S
        if monotonic() + calm_s + out_s + BACK_S + 1 > until:
            return
        await asyncio.sleep(calm_s)
        if kind == "killed":
            encoder.send(signal.SIGKILL)
            outage = Outage(kind, monotonic())
            seen.outages.append(outage)
            await asyncio.sleep(out_s)
            before = monotonic()
            await loop.run_in_executor(None, encoder.start)
        else:
            encoder.send(signal.SIGSTOP)
            outage = Outage(kind, monotonic())
            seen.outages.append(outage)
            await asyncio.sleep(out_s)
            before = monotonic()
            encoder.send(signal.SIGCONT)
        outage.end = before
        await asyncio.sleep(BACK_S)


async def storm(url: str, encoder: Encoder, seconds: float, clients: int) -> Rehearsal:
    """Let all clients ask while there is trouble."""
    seen, asked = Rehearsal(), queries(7)
    start = monotonic()
    until = start + seconds
    calm = 1.0 if seconds < 30 else 3.0
    jobs = [client(url, asked, until, seen) for _ in range(clients)]
    await asyncio.gather(trouble(encoder, seen, until, calm), *jobs)
    seen.seconds = monotonic() - start
    return seen


def rehearse(
    seconds: float, clients: int = 200, *, n_compared: int = 300, options: Sequence[str] = ()
) -> Rehearsal:
    """Run it all, and return what was seen."""
    encoder = Encoder()
    try:
        with TemporaryDirectory() as name, service(Path(name), encoder, *options) as (url, process):
            seen = asyncio.run(storm(url, encoder, seconds, clients))
            status = Path(f"/proc/{process.pid}/status")
            if status.exists():
                peak = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
                seen.peak_mb = int(peak.split()[1]) / 1024
            compare(seen, Path(name), n_compared)
            return seen
    finally:
        encoder.send(signal.SIGKILL)


def compare(seen: Rehearsal, folder: Path, n: int) -> None:
    """Hold replies against the systems of the project, asked here: what nobody can tell first."""
    project, draw = read_project(folder), random.Random(11)
    replies = draw.sample(seen.replies, len(seen.replies))
    replies.sort(key=lambda r: seen.must_be(r) is not None)
    half = len([r for r in replies if seen.must_be(r) is None][: n // 2])
    chosen = [*replies[:half], *replies[len(replies) - (n - half) :]]
    with (
        open_served(project, Asked("keyword"), None) as words,
        open_served(project, Asked("hybrid"), None) as both,
    ):
        for reply in chosen:
            catalog = (words if reply.partial else both).catalog
            found = catalog.search(reply.query, LIMIT).found
            if tuple(f.doc_id for f in found) != reply.ids:
                seen.other.append(reply)
    seen.n_compared = len(chosen)


def main() -> None:
    """Print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    clients = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seen = rehearse(seconds, clients, n_compared=2000)
    took = sorted(r.answered - r.sent for r in seen.replies)
    for outage in seen.outages:
        print(f"encoder {outage.kind} for {outage.end - outage.start:.1f} s")
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
