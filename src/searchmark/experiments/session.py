"""A project asked many times: each of its systems is run once, when it is first needed."""

from collections.abc import Iterator
from contextlib import contextmanager

from searchmark.errors import InputError, SearchmarkError, nearest
from searchmark.experiments.experiment import run_experiment
from searchmark.experiments.gating import check_named, judge
from searchmark.experiments.holding import wait_for
from searchmark.experiments.outcome import Experiment
from searchmark.experiments.store import Store
from searchmark.gate.baseline import read_baseline
from searchmark.gate.verdict import Verdict
from searchmark.measures.notation import parse_measure
from searchmark.measures.score import summarize
from searchmark.measures.spec import Measure
from searchmark.measures.summary import Mean, SystemScores
from searchmark.project import Project
from searchmark.stats.means import with_intervals


class Session:
    """What was run and scored of a project so far; a system that failed to run stays failed.

    Answers are those of the first time: what changes on disk later is not seen.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self._runs: dict[str, Experiment | SearchmarkError] = {}
        self._scores: dict[tuple[str, str], SystemScores] = {}
        self._verdict: Verdict | None = None

    def gate(self) -> Verdict:
        """Hold the gate's system against the baseline; raises what `run_gate` raises."""
        if self._verdict is None:
            check_named(self.project)
            baseline = read_baseline(self.project.baseline)
            self._verdict = judge(self.project, self._run(self.project.gate.system), baseline)
        return self._verdict

    def mean(self, measure: str, system: str | None = None, category: str | None = None) -> Mean:
        """Return a measure's mean over all queries, or over those of a category.

        The measure need not be one of the project file. Without a system it is the gate's, or the
        only one.
        """
        scores = self._measured(measure, system)
        if category is not None and category not in scores.by_category:
            raise InputError(
                f"no judged query is of category '{category}'",
                path=self.project.queries,
                fix=nearest(category, scores.by_category),
            )
        found = scores.means[0] if category is None else scores.by_category[category][0]
        if found.value is None:
            of = "" if category is None else f" of category '{category}'"
            raise InputError(f"no query{of} has a value of {found.measure} for '{scores.system}'")
        return found

    def values(self, measure: str, system: str | None = None) -> dict[str, float]:
        """Return query id -> value, of the queries that have one."""
        scores = self._measured(measure, system)
        return dict(scores.per_query[scores.means[0].measure])

    def caveats(self, system: str | None = None) -> tuple[str, ...]:
        """Return what to know of a run that counts although not every answer is whole."""
        return self._run(self._named(system)).caveats

    def _measured(self, measure: str, system: str | None) -> SystemScores:
        """Return the scores of a system by one measure, computed from what it answered."""
        parsed = self._parsed(measure)
        name = self._named(system)
        key = (name, parsed.full)
        if key not in self._scores:
            experiment = self._run(name)
            experiment.check()
            self._scores[key] = _scores(experiment, parsed)
        return self._scores[key]

    def _parsed(self, measure: str) -> Measure:
        parsed = parse_measure(measure, self.project.file.profile)
        depth = self.project.file.depth
        if parsed.cutoff is not None and parsed.cutoff > depth:
            raise InputError(
                f"'{measure}' looks deeper than depth = {depth}",
                path=self.project.path,
                fix="ask for less, or raise depth there",
            )
        return parsed

    def _named(self, system: str | None) -> str:
        if system is not None:
            return self.project.choose([system])[0]
        if self.project.file.gate is not None:
            return self.project.gate.system
        names = list(self.project.systems)
        if len(names) > 1:
            raise InputError(
                f"the project has {len(names)} systems and no gate to choose one",
                path=self.project.path,
                fix=f"name the system: {' or '.join(names)}",
            )
        return names[0]

    def _run(self, system: str) -> Experiment:
        if system not in self._runs:
            self._runs[system] = self._first_run(system)
        run = self._runs[system]
        if isinstance(run, SearchmarkError):
            raise run
        return run

    def _first_run(self, system: str) -> Experiment | SearchmarkError:
        try:
            with waiting_for_others(Store(self.project.folder / ".searchmark")):
                return run_experiment(self.project, [system], sensitivity=False)
        except SearchmarkError as error:
            return error


def _scores(experiment: Experiment, measure: Measure) -> SystemScores:
    outcome, inputs = experiment.outcomes[0], experiment.inputs
    groups = inputs.groups
    categories = [groups.category.get(q) for q in inputs.judged.query_ids]
    scores = summarize(outcome.system, outcome.hits, [measure], categories)
    return with_intervals(scores, [measure], groups)


@contextmanager
def waiting_for_others(store: Store) -> Iterator[None]:
    """Wait until no other process that asked to wait works with the store.

    Processes that run the tests of one project side by side would otherwise meet in a journal.
    """
    store.folder.mkdir(parents=True, exist_ok=True)
    with (store.folder / "session.lock").open("a") as stream:
        wait_for(stream)  # closing the file lets go of it
        yield
