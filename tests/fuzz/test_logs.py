"""A log may hold anything: it is read, or one sentence tells what is wrong."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.data.logs import LogColumns, read_showings
from searchmark.data.showings import rankings_of
from searchmark.errors import InputError

COLUMNS = LogColumns(query="q", doc_id="o.d", rank="r", time="t", session="s", tokens="n")

odd = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)
row = st.fixed_dictionaries(
    {
        "q": st.sampled_from(["a", "b"]) | odd,
        "o": st.fixed_dictionaries({"d": st.sampled_from(["x", "y"]) | odd}) | odd,
        "r": st.integers(0, 3) | odd,
    },
    optional={"t": st.sampled_from(["2026-01-01", 5]) | odd, "s": odd, "n": st.integers() | odd},
)


@given(rows=st.lists(row, max_size=6))
def test_logs(rows: list[object], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    try:
        showings = read_showings(path, COLUMNS, fold=True)
    except InputError as error:
        assert "\n" not in str(error)
        return
    for choice in ("latest", "commonest", "mean"):
        for ranked in rankings_of(showings, choice).values():
            assert all(r.doc_id for r in ranked)
