"""Whatever a project file holds, it is a project or it is told what is wrong."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from searchmark.errors import InputError
from searchmark.gate.policy import GatePolicy
from searchmark.project import Project, ProjectFile, read_project
from searchmark.project import file as project_file
from searchmark.systems import SYSTEMS

NAMES = [
    f.encode_name
    for struct in (ProjectFile, GatePolicy, *(SYSTEMS.load(n).config for n in SYSTEMS.names()))
    for f in msgspec.structs.fields(struct)
]
WORDS = ["bm25", "hybrid", "run", "a", "b", "nDCG@10", "RR", "c.jsonl", "graded", "and", "", "\x00"]

scalars = (
    st.sampled_from(WORDS)
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.booleans()
    | st.text(max_size=5)
    | st.just(date(2024, 1, 2))
)
keys = st.sampled_from([*NAMES, "use", "a", "b", "pattern", "field", "op"]) | st.text(max_size=3)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
systems = st.fixed_dictionaries(
    {"use": st.sampled_from(SYSTEMS.names()) | values}, optional={n: values for n in NAMES}
)
tables = st.fixed_dictionaries(
    {},
    optional={
        **{f.encode_name: values for f in msgspec.structs.fields(ProjectFile)},
        "systems": st.dictionaries(st.sampled_from(["a", "b", "c d"]), systems) | values,
        "gate": st.dictionaries(st.sampled_from(NAMES), values, max_size=4) | values,
        "corpus": st.just("c.jsonl") | values,
        "measures": st.lists(st.sampled_from(WORDS), max_size=3) | values,
    },
)

quiet = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@quiet
@given(table=tables)
def test_a_table_is_a_project_or_an_input_error(tmp_path: Path, table: Mapping[str, Any]) -> None:
    for name in ("c.jsonl", "searchmark.toml"):
        (tmp_path / name).write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(project_file, "_read_toml", lambda path: table)
        with suppress(InputError):
            assert isinstance(read_project(tmp_path), Project)


@quiet
@given(
    raw=st.binary(max_size=200) | st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace"))
)
def test_bytes_are_a_project_or_an_input_error(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "searchmark.toml").write_bytes(raw)
    with suppress(InputError):
        read_project(tmp_path)
