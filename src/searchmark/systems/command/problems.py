"""What is wrong with the table of a command, found without running anything."""

import re
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import PurePath

from searchmark.errors import Problem
from searchmark.systems.command.config import Config
from searchmark.systems.command.printed import items_of
from searchmark.systems.literals import (
    argument_problems,
    body_secret_problems,
    literal_secret_problems,
)
from searchmark.systems.secrets import has_reference
from searchmark.systems.selection import compile_path, path_problem, selection_problems
from searchmark.systems.template import placeholders, template_problem

KNOWN = ("query", "k", "query_id")
INTERPRETERS = {
    **dict.fromkeys(("sh", "bash", "dash", "ash", "zsh", "ksh", "fish"), re.compile(r"-\w*c")),
    **dict.fromkeys(("perl", "ruby"), re.compile(r"-\w*[eE]")),
    **dict.fromkeys(("node", "deno", "bun"), re.compile(r"-e|-p|-pe|--eval|--print|eval")),
    **dict.fromkeys(("python", "python3"), re.compile(r"-\w*c")),
}
"""Programs that run the text after this argument: a query in there would be run as code."""


def command_problems(config: Config) -> list[Problem]:
    """Report commands that cannot be run, or that would take a query for code."""
    return [
        *_argv_problems(config.argv),
        *_query_problems(config),
        *_environment_problems(config),
        *argument_problems("version", config.version),
        *_code_problems(config),
        *(
            Problem(key, "is no path")
            for key, paths in (("cwd", [config.cwd]), ("files", config.files))
            if any("\0" in path or not path for path in paths)
        ),
    ]


def _argv_problems(argv: Sequence[str]) -> Iterator[Problem]:
    if not argv or not argv[0]:
        yield Problem("argv", "names no program; write it first, then its arguments")
        return
    if placeholders(argv[0]):
        yield Problem("argv[0]", "holds a placeholder: a query may not choose the program")
    for i, argument in enumerate(argv):
        yield from _template_problems(f"argv[{i}]", argument)
    yield from argument_problems("argv", argv)
    for i in _code_places(argv):
        if i < len(argv) and placeholders(argv[i]):
            told = (
                "would be run as code with the query in it; make the query an argument of its own"
            )
            yield Problem(f"argv[{i}]", told)


def _template_problems(key: str, text: str) -> Iterator[Problem]:
    if "\0" in text:
        yield Problem(key, "holds a NUL character")
    elif has_reference(text):
        told = "variables are put in under env only, where other users do not see them; "
        yield Problem(key, told + "for a shell's own ${NAME} write $${NAME}")
    elif (problem := template_problem(text, KNOWN)) is not None:
        yield Problem(key, problem)


def _code_places(argv: Sequence[str]) -> Iterator[int]:
    """Yield where arguments stand that an interpreter runs as a program text."""
    flag: re.Pattern[str] | None = None
    for i, argument in enumerate(argv):
        if flag is not None and flag.fullmatch(argument):
            yield i + 1
        if flag is None or not argument.startswith("-"):  # what follows belongs to a script
            flag = INTERPRETERS.get(re.sub(r"[0-9.]+$", "", PurePath(argument).name))


def _query_problems(config: Config) -> Iterator[Problem]:
    if config.stdin is not None:
        yield from _template_problems("stdin", config.stdin)
        if body_secret_problems("stdin", config.stdin):
            told = "holds a secret written out; give it in env, as ${NAME}"
            yield Problem("stdin", told)
    used = set().union(*map(placeholders, [*config.argv, config.stdin or ""]))
    if config.argv and not used & {"query", "query_id"}:
        yield Problem("argv", "nothing tells the program what to look for: write {query} in it")


def _environment_problems(config: Config) -> Iterator[Problem]:
    for name, value in config.env.items():
        if not name or "=" in name or "\0" in name + value:
            yield Problem(f"env.{name}", "is no variable of an environment")
    yield from literal_secret_problems(env=config.env)


def _code_problems(config: Config) -> Iterator[Problem]:
    if not config.ok_codes:
        yield Problem("ok_codes", "holds no exit code, so that nothing would be an answer")
    for key, codes in (("ok_codes", config.ok_codes), ("empty_codes", config.empty_codes)):
        for code in codes:
            if not 0 <= code <= 255:
                yield Problem(key, f"{code} is no exit code, which is from 0 to 255")
    for code in sorted(set(config.ok_codes) & set(config.empty_codes)):
        yield Problem("empty_codes", f"{code} stands in ok_codes too")
    if config.max_bytes < 1:
        yield Problem("max_bytes", f"{config.max_bytes} is not 1 or more")


def output_problems(config: Config) -> list[Problem]:
    """Report output that cannot be read as it is said."""
    found = list(_token_problems(config))
    if (config.ids is None) == (config.ids_regex is None):
        told = "give ids (JMESPath over JSON) or ids_regex (a pattern over text), one of them"
        found.append(Problem("ids", told))
    elif config.ids_regex is not None:
        found += _regex_problems(config)
    tokens = None if config.tokens == "measured" else config.tokens
    found += selection_problems(
        ids=config.ids, scores=config.scores, tokens=tokens, items=config.items,
        partial=config.partial, total=config.total,
    )  # fmt: skip
    if config.empty_regex is not None and (wrong := _pattern_problem(config.empty_regex)):
        found.append(Problem("empty_regex", wrong))
    return found


def _regex_problems(config: Config) -> Iterator[Problem]:
    text = config.ids_regex or ""
    if (wrong := _pattern_problem(text)) is not None:
        yield Problem("ids_regex", wrong)
    elif re.compile(text).groups == 0:
        yield Problem("ids_regex", "has no group for the id: (?P<id>...) or plain (...)")
    for key in ("scores", "items", "partial", "total"):
        if getattr(config, key) is not None:
            yield Problem(key, "is for JSON; ids_regex takes groups called id, score and tokens")
    if config.output != "json":
        yield Problem("output", "is for JSON, and ids_regex reads text")
    if isinstance(config.tokens, str) and config.tokens != "measured":
        yield Problem(
            "tokens", "is a JMESPath, which is for JSON; name a group tokens in ids_regex"
        )


def _pattern_problem(text: str) -> str | None:
    try:
        re.compile(text, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        return f"'{text}' is no regular expression ({error})"
    return None


def _token_problems(config: Config) -> Iterator[Problem]:
    tokens = config.tokens
    if isinstance(tokens, float | int) and not (isfinite(tokens) and tokens >= 0):
        yield Problem("tokens", f"{tokens:g} is no number of tokens")
    if config.items is not None and tokens != "measured":
        yield Problem("items", 'is for tokens = "measured" only')
    if tokens != "measured" or config.ids is None or config.items is not None:
        return
    if path_problem(config.ids) is None and items_of(compile_path(config.ids, "ids")) is None:
        told = "it cannot be told which values are the results that are measured; say so: items"
        yield Problem("tokens", told)
