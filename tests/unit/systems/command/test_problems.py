"""Problems of a command's table, told before anything runs."""

from typing import Any

import pytest

from searchmark.systems.command.config import Config
from searchmark.systems.command.system import find_problems

FINE: dict[str, Any] = {"argv": ["find", "--", "{query}"], "ids": "[].id"}


def problems(**keys: Any) -> list[tuple[str, str]]:
    return [(p.key, p.message) for p in find_problems(Config(**{**FINE, **keys}), "cli", {})]


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"argv": ["find"], "stdin": "{query}\n"},
        {"argv": ["look-up", "{query_id}", "{k}"]},
        {"argv": ["sh", "-c", 'find "$1" | sort', "sh", "{query}"]},
        {"argv": ["python3", "find.py", "-c", "{query}"]},
        {"argv": ["awk", "{{print $1}}", "{query}"]},
        {"argv": ["grep", "-e", "{query}"], "ids": None, "ids_regex": r"^(\S+)"},
        {"argv": ["sh", "-c", 'echo "$1" $${HOME}', "sh", "{query}"]},
        {"tokens": "[].n"},
        {"tokens": 40},
        {"tokens": "measured", "ids": "map(&id, @)", "items": "@"},
        {"env": {"API_KEY": "${MY_KEY}", "DISABLE_TELEMETRY": "1"}},
        {"ok_codes": [0, 2], "empty_codes": [1]},
    ],
)
def test_a_command_that_can_run(keys: dict[str, Any]) -> None:
    assert problems(**keys) == []


@pytest.mark.parametrize(
    ("keys", "key", "told"),
    [
        ({"argv": []}, "argv", "names no program"),
        ({"argv": ["", "{query}"]}, "argv", "names no program"),
        ({"argv": ["{query}"]}, "argv[0]", "may not choose the program"),
        ({"argv": ["find", "all"]}, "argv", "nothing tells the program what to look for"),
        ({"argv": ["find", "{querry}", "{query}"]}, "argv[1]", "unknown placeholder {querry}"),
        ({"argv": ["find", "a{", "{query}"]}, "argv[1]", "single '{'"),
        ({"argv": ["find", "\0", "{query}"]}, "argv[1]", "NUL"),
        ({"argv": ["find", "--key=${KEY}", "{query}"]}, "argv[1]", "under env only"),
        ({"argv": ["find", "$${A} ${KEY}", "{query}"]}, "argv[1]", "under env only"),
        ({"argv": ["find", "http://me:hunter22@host/", "{query}"]}, "argv[1]", "secret"),
        ({"argv": ["sh", "-c", "find {query}"]}, "argv[2]", "run as code"),
        ({"argv": ["/usr/bin/env", "bash", "-lc", "find {query}"]}, "argv[3]", "run as code"),
        ({"argv": ["python3.12", "-c", "find('{query}')"]}, "argv[2]", "run as code"),
        ({"argv": ["node", "--eval", "find('{query}')"]}, "argv[2]", "run as code"),
        ({"stdin": "{text}"}, "stdin", "unknown placeholder {text}"),
        ({"cwd": ""}, "cwd", "no path"),
        ({"files": ["a", "\0"]}, "files", "no path"),
        ({"env": {"A=B": "1"}}, "env.A=B", "no variable"),
        ({"env": {"A": "\0"}}, "env.A", "no variable"),
        ({"env": {"API_KEY": "hunter22hunter22"}}, "env.API_KEY", "written out"),
        ({"ok_codes": []}, "ok_codes", "no exit code"),
        ({"ok_codes": [0, 256]}, "ok_codes", "256 is no exit code"),
        ({"empty_codes": [-1]}, "empty_codes", "-1 is no exit code"),
        ({"empty_codes": [0]}, "empty_codes", "0 stands in ok_codes too"),
        ({"max_bytes": 0}, "max_bytes", "0 is not 1 or more"),
        ({"ids": None}, "ids", "one of them"),
        ({"ids_regex": "(a)"}, "ids", "one of them"),
        ({"ids": "[].["}, "ids", "no JMESPath"),
        ({"scores": "]"}, "scores", "no JMESPath"),
        ({"tokens": "[].sizeof(@)"}, "tokens", "no function sizeof"),
        ({"tokens": -1}, "tokens", "-1 is no number of tokens"),
        ({"tokens": float("nan")}, "tokens", "nan is no number of tokens"),
        ({"tokens": "measured", "ids": "map(&id, @)"}, "tokens", "say so: items"),
        ({"items": "[]"}, "items", 'for tokens = "measured" only'),
        ({"empty_regex": "("}, "empty_regex", "no regular expression"),
        ({"ids": None, "ids_regex": "("}, "ids_regex", "no regular expression"),
        ({"ids": None, "ids_regex": "a"}, "ids_regex", "has no group"),
        ({"ids": None, "ids_regex": "(a)", "scores": "[].s"}, "scores", "is for JSON"),
        ({"ids": None, "ids_regex": "(a)", "output": "jsonl"}, "output", "is for JSON"),
        ({"ids": None, "ids_regex": "(a)", "tokens": "[].n"}, "tokens", "name a group"),
    ],
)
def test_a_command_that_cannot(keys: dict[str, Any], key: str, told: str) -> None:
    found = problems(**keys)
    assert [k for k, _ in found] == [key]
    assert told in found[0][1]
    assert "hunter22" not in found[0][1]
