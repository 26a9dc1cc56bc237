import subprocess
import sys

import pytest

from searchmark.errors import InputError
from searchmark.measures.notation import parse_measure
from searchmark.measures.spec import Spec
from searchmark.measures.table import MEASURES, spellings


@pytest.mark.parametrize(
    ("text", "written", "cutoff"),
    [
        ("nDCG@10", "nDCG@10", 10),
        ("ndcg@10", "nDCG@10", 10),
        (" nDCG @ 10 ", "nDCG@10", 10),
        ("RR", "RR", None),
        ("P(rel=2)@5", "P(rel=2)@5", 5),
        ("P( rel = 02 )@05", "P(rel=2)@5", 5),
        ("nDCG()@10", "nDCG@10", 10),
        ("nDCG(rel=2, gain=binary)@3", "nDCG(gain=binary,rel=2)@3", 3),
    ],
)
def test_one_measure_reads_one_way(text, written, cutoff):
    measure = parse_measure(text)
    assert (measure.written, measure.cutoff) == (written, cutoff)
    assert parse_measure(measure.written) == measure


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("MRR", "RR"),
        ("Recall@5", "R@5"),
        ("Hit@3", "Success@3"),
        ("MAP", "AP"),
        ("Precision@5", "P@5"),
        ("NDCG", "nDCG"),
    ],
)
def test_aliases(alias, name):
    assert parse_measure(alias) == parse_measure(name)


@pytest.mark.parametrize(
    ("trec", "name"),
    [
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg", "nDCG"),
        ("recip_rank", "RR"),
        ("map", "AP"),
        ("map_cut_5", "AP@5"),
        ("P_5", "P@5"),
        ("recall_100", "R@100"),
        ("success_1", "Success@1"),
        ("num_ret", "NumRet"),
    ],
)
def test_trec_eval_names(trec, name):
    assert parse_measure(trec, "trec") == parse_measure(name, "trec")


def test_the_full_notation_states_every_convention():
    assert parse_measure("nDCG@10").full == (
        "nDCG(dcg=exp-log2,gain=graded,rel=1,empty=one,missing=zero)@10"
    )
    assert parse_measure("RR").full == "RR(rel=1,empty=zero,missing=zero)"
    assert parse_measure("P(docs=leaf)@5").full == "P(rel=1,docs=leaf,empty=zero,missing=zero)@5"


@pytest.mark.parametrize(
    ("profile", "ndcg", "rr"),
    [
        ("graded", ("exp-log2", "one", "zero"), ("zero", "zero")),
        ("trec", ("log2", "zero", "skip"), ("zero", "skip")),
        ("answerable", ("exp-log2", "skip", "zero"), ("skip", "zero")),
    ],
)
def test_profiles_set_the_defaults(profile, ndcg, rr):
    measure = parse_measure("nDCG", profile)
    assert tuple(measure[n] for n in ("dcg", "empty", "missing")) == ndcg
    measure = parse_measure("RR", profile)
    assert tuple(measure[n] for n in ("empty", "missing")) == rr


def test_what_is_written_wins_over_the_profile():
    measure = parse_measure("nDCG(dcg=exp-log2,missing=zero)", "trec")
    assert (measure["dcg"], measure["missing"], measure["empty"]) == ("exp-log2", "zero", "zero")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Recal@5", "unknown measure 'Recal@5'; did you mean 'Recall'"),
        ("ndgc_cut_10", "unknown measure 'ndgc_cut_10'; "),
        ("nDCG@0", "'nDCG@0': the cutoff must be a whole number from 1 to 1,000,000"),
        ("nDCG@1.5", "'nDCG@1.5': the cutoff must be a whole number"),
        ("nDCG@1000001", "the cutoff must be a whole number"),
        ("nDCG@٣", "the cutoff must be a whole number"),
        ("nDCG@", "is not the notation of a measure"),
        ("nDCG(rel=1", "is not the notation of a measure"),
        ("", "is not the notation of a measure"),
        ("P", "'P' needs a cutoff; write P@10"),
        ("NoAnswer@5", "'NoAnswer@5': NoAnswer takes no cutoff; write NoAnswer"),
        ("P(real=2)@5", "'P(real=2)@5': P has no 'real'; did you mean 'rel'?"),
        ("P(rel=two)@5", "'P(rel=two)@5': rel must be a whole number, not 'two'"),
        ("P(rel=1_0)@5", "rel must be a whole number, not '1_0'"),
        ("P(rel=0)@5", "rel must be at least 1"),
        ("P(rel)@5", "'rel' in 'P(rel)@5' is not PARAMETER=VALUE"),
        ("P(rel=)@5", "'rel=' in 'P(rel=)@5' is not PARAMETER=VALUE"),
        ("P(rel=1,rel=2)@5", "'P(rel=1,rel=2)@5' gives 'rel' twice"),
        ("nDCG(dcg=exp)", "'nDCG(dcg=exp)': dcg cannot be 'exp'; did you mean 'exp-log2'?"),
        ("nDCG(empty=none)", "empty cannot be 'none'; did you mean 'one'?"),
    ],
)
def test_what_cannot_be_read_is_named_with_the_nearest_known(text, says):
    with pytest.raises(InputError) as caught:
        parse_measure(text)
    assert says in str(caught.value)


def test_a_slip_in_a_name_finds_it():
    with pytest.raises(InputError, match=r"unknown measure 'nDGC@10'; did you mean 'nDCG'"):
        parse_measure("nDGC@10")


def test_an_unknown_profile_lists_the_known():
    with pytest.raises(InputError, match=r"unknown profile 'grade'; did you mean 'graded'\?"):
        parse_measure("RR", "grade")


def test_every_name_loads_a_spec_of_that_name():
    for name in MEASURES.names():
        spec = MEASURES.load(name)
        assert isinstance(spec, Spec)
        assert spec.name == name


@pytest.mark.parametrize("name", MEASURES.names())
def test_every_spelling_of_a_measure_finds_it(name):
    spec = MEASURES.load(name)
    at = {"required": "@1"}.get(spec.cutoff, "")
    for spelling in spec.names():
        assert parse_measure(spelling + at).spec is spec
        assert parse_measure(spelling.upper() + at).spec is spec
    if spec.trec_cut:
        assert parse_measure(f"{spec.trec_cut}_1", "trec").spec is spec


def test_two_measures_cannot_claim_one_spelling(monkeypatch):
    twin = Spec(name="Twin", summary="", compute=MEASURES.load("RR").compute, aliases=("mrr",))
    names, load = [*MEASURES.names(), "Twin"], MEASURES.load
    spellings.cache_clear()
    monkeypatch.setattr(type(MEASURES), "names", lambda self: names)
    monkeypatch.setattr(
        type(MEASURES), "load", lambda self, name: twin if name == "Twin" else load(name)
    )
    try:
        with pytest.raises(InputError, match="'mrr' is claimed by the measures RR and Twin"):
            spellings()
    finally:
        spellings.cache_clear()


def test_a_proper_name_loads_the_file_of_that_measure_only():
    code = (
        "import sys; from searchmark.measures.notation import parse_measure; "
        "parse_measure('ndcg@10'); print(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert "searchmark.measures.ndcg" in loaded
    assert not loaded & {"searchmark.measures.sets", "searchmark.data", "polars"}
