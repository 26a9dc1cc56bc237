"""A program as a system: started anew for each query, its standard output read as the answer."""

import os
import re
import shlex
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from searchmark.errors import InputError, Problem, SystemFailedError, one_line
from searchmark.systems.command.config import MEASURED, Config
from searchmark.systems.command.executable import digests, environment, find_program, working_folder
from searchmark.systems.command.matching import Matching
from searchmark.systems.command.printed import (
    JsonOutput,
    Output,
    Printed,
    TextOutput,
    decoded,
    items_of,
    with_tokens,
)
from searchmark.systems.command.problems import command_problems, output_problems
from searchmark.systems.command.process import Finished, Processes, Program
from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Answer, Context, Entry, Kind, Query, System
from searchmark.systems.secrets import Secrets
from searchmark.systems.selection import compile_path, selection
from searchmark.systems.template import encoded, expand_text, fill_text

if TYPE_CHECKING:
    from searchmark.systems.counting import TokenCounter

SHOWN = 80
"""How many characters of a command, and twice that of what it wrote, messages hold."""

TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


@dataclass(frozen=True, slots=True, eq=False)
class CommandSystem:
    """Runs the program once a query."""

    name: str
    config: Config
    program: Program
    processes: Processes
    output: Output
    secrets: Secrets
    empty: Matching | None = None
    counter: "TokenCounter | None" = None
    tags: frozenset[str] = frozenset()
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return the first `k` results in the order they are printed."""
        with _named(shlex.join(self.config.argv)):
            finished = self.processes.run(self._filled(query, k))
            try:
                printed = self._printed(finished, k)
            except SystemFailedError as error:
                error.args = (f"{error}{self._told(finished)}",)
                raise
        answer = replace(printed.answer, latency_ms=1000 * finished.seconds)
        if self.counter is None:
            return answer
        return with_tokens(answer, self.counter.count(printed.items))

    def _filled(self, query: Query, k: int) -> Program:
        values = {"query": query.text, "query_id": query.query_id, "k": k}
        argv = tuple(encoded(fill_text(part, values)) for part in self.config.argv)
        if any(b"\0" in part for part in argv):
            raise SystemFailedError(
                "the query holds a NUL character, which no command line can; give it on standard "
                'input: stdin = "{query}"'
            )
        if self.config.stdin is None:
            return replace(self.program, argv=argv)
        given = encoded(fill_text(self.config.stdin, values))
        return replace(self.program, argv=argv, stdin=given)

    def _printed(self, finished: Finished, k: int) -> Printed:
        if finished.code in self.config.empty_codes:
            if finished.stdout.strip():
                raise SystemFailedError(
                    f"ended with exit code {finished.code}, which stands for no results, "
                    "but printed something"
                )
            return Printed(Answer((), size=len(finished.stdout)))
        if finished.code not in self.config.ok_codes:
            raise SystemFailedError(_ended(finished.code), retry=finished.code == os.EX_TEMPFAIL)
        if self.empty is not None and self.empty.is_all_of(decoded(finished.stdout).strip()):
            return Printed(Answer((), size=len(finished.stdout)))
        return self.output.read(finished.stdout, k)

    def _told(self, finished: Finished) -> str:
        """Return the beginning of what was printed and the end of what went to standard error."""
        printed = self._readable(finished.stdout[: 100 * SHOWN])
        told = self._readable(finished.stderr)
        shown = f"; it printed '{_cut(printed)}'" if printed else ""
        return shown + (f"; standard error ends '{_cut(told, at_end=True)}'" if told else "")

    def _readable(self, data: bytes) -> str:
        text = TERMINAL_CODES.sub("", data.decode("utf-8", "replace")).replace("\r", "\n")
        shown = one_line(self.secrets.redact(text)).strip()
        return "".join(c if c.isprintable() else " " for c in shown)


def _cut(text: str, *, at_end: bool = False) -> str:
    if len(text) <= 2 * SHOWN:
        return text
    return f"…{text[-2 * SHOWN :]}" if at_end else f"{text[: 2 * SHOWN]}…"


def _ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"


@contextmanager
def _named(command: str) -> Iterator[None]:
    """Say in every failure which command it was."""
    try:
        yield
    except SystemFailedError as error:
        shown = command if len(command) <= SHOWN else f"{command[:SHOWN]}…"
        error.args = (f"`{one_line(shown)}` {error}",)
        raise


@contextmanager
def open_command(name: str, config: Config, context: Context) -> Iterator[System]:
    """Find the program, and what tells it from another release of it."""
    if os.name != "posix":
        raise InputError(f"system '{name}' runs a command, which is done on Linux and macOS only")
    config = _with_plain_text(config)
    cwd = working_folder(context.folder / config.cwd, name)
    variables = environment(config.env, context.secrets, is_clean=config.clean_env)
    find_program(config.argv[0], cwd, variables, name)
    program = Program(
        (), cwd, variables, timeout_s=context.calls.timeout_s, max_bytes=config.max_bytes
    )
    identity = digests(config.argv, config.files, cwd, context.folder)
    counter = None
    if config.tokens == MEASURED:
        from searchmark.systems.counting import open_counter

        counter = open_counter(config.tokenizer, context.folder)
        identity["tokenizer"] = counter.digest
    with ExitStack() as stack:
        processes = stack.enter_context(Processes())
        output = _output(config, stack)
        empty = None
        if config.empty_regex is not None:
            empty = stack.enter_context(Matching(config.empty_regex, "empty_regex"))
        if config.version:
            identity["version"] = context.secrets.redact(
                _version(config.version, program, processes)
            )
        yield CommandSystem(
            name,
            config,
            program,
            processes,
            output,
            context.secrets,
            empty,
            counter,
            frozenset(config.tags),
            identity,
        )


def _with_plain_text(config: Config) -> Config:
    """Return the configuration whose ``$${NAME}`` are the text that they stand for."""
    nothing = Secrets({})  # as no variable is put in here
    argv = [expand_text(part, nothing, f"argv[{i}]") for i, part in enumerate(config.argv)]
    stdin = None if config.stdin is None else expand_text(config.stdin, nothing, "stdin")
    return msgspec.structs.replace(config, argv=argv, stdin=stdin)


def _version(argv: list[str], program: Program, processes: Processes) -> str:
    """Return the first line that a command prints of itself."""
    with _named(shlex.join(argv)):
        filled = replace(program, argv=tuple(map(os.fsencode, argv)))
        finished = processes.run(filled)
        lines = decoded(finished.stdout).strip().splitlines()
        if finished.code != 0:
            raise SystemFailedError(f"{_ended(finished.code)}, where a version was asked for")
        if not lines:
            raise SystemFailedError("printed nothing, where a version was asked for")
    return lines[0]


def _output(config: Config, stack: ExitStack) -> Output:
    tokens = None if config.tokens == MEASURED else config.tokens
    if config.ids_regex is not None:
        flat = tokens if isinstance(tokens, float | int) else None
        matching = Matching(config.ids_regex, "ids_regex", re.MULTILINE)
        return TextOutput(stack.enter_context(matching), flat)
    paths = selection(
        config.ids or "", config.scores, tokens, partial=config.partial, total=config.total
    )
    items = None
    if config.tokens == MEASURED:
        given = config.items
        items = items_of(paths.ids) if given is None else compile_path(given, "items")
    return JsonOutput(paths, items, config.output == "jsonl")


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report commands that cannot be run and output that cannot be read."""
    return [*command_problems(config), *output_problems(config)]


COMMAND = Kind(Config, open_command, find_problems, calls=CallPolicy(timeout_s=60), keeps_time=True)
"""Asked once a query; the program is started anew each time."""
