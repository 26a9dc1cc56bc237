"""The GitHub Action does what it says: its scripts run here, with GitHub's files made up."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from searchmark.demo import place

Step = Mapping[str, Any]
FAKE_GH = """#!/usr/bin/env bash
printf '%s\\n' "$*" >> "$FAKE/calls"
case "$*" in
  *--paginate*) cat "$FAKE/ids"; exit "$(cat "$FAKE/code")" ;;
  *) for word in "$@"; do case "$word" in body=@*) cp "${word#body=@}" "$FAKE/body" ;; esac; done ;;
esac
"""


@pytest.fixture(scope="module")
def action(repository: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((repository / "action.yml").read_text(encoding="utf-8"))
    return found


def named(action: Mapping[str, Any], name: str) -> Step:
    (step,) = [s for s in action["runs"]["steps"] if s["name"] == name]
    return step  # type: ignore[no-any-return]


def scripts(action: Mapping[str, Any]) -> list[Step]:
    return [step for step in action["runs"]["steps"] if "run" in step]


def run(
    step: Step, folder: Path, inputs: Mapping[str, str], **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub's runner does, in `folder`; `inputs` are what ${{ ... }} stand for."""
    values = {}
    for name, told in step.get("env", {}).items():
        expression = re.fullmatch(r"\$\{\{ ([\w.-]+) \}\}", told)
        assert expression is not None, f"{name}: {told}"
        values[name] = inputs[expression[1]]
    script = folder.parent / "step.sh"
    script.write_text(step["run"])
    here = Path(sys.executable).parent
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
        cwd=folder,
        env={"PATH": f"{here}:{os.environ['PATH']}", **environment, **values},
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_expression_stands_in_a_script(action: dict[str, Any]) -> None:
    assert [s["name"] for s in scripts(action) if "${{" in s["run"]] == []


def test_scripts_are_right_bash(action: dict[str, Any]) -> None:
    assert len(scripts(action)) == 4
    for step in scripts(action):
        assert step["shell"] == "bash"
        done = subprocess.run(
            ["bash", "-n"], input=step["run"], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), step["name"]


def test_every_input_is_used_and_every_name_is_known(
    action: dict[str, Any], repository: Path
) -> None:
    text = (repository / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"\binputs\.([\w-]+)", text)) == set(action["inputs"])
    told = {v["value"] for v in action["outputs"].values()}
    assert told == {f"${{{{ steps.gate.outputs.{name} }}}}" for name in action["outputs"]}
    written = re.findall(r'echo "([\w-]+)=', named(action, "Ask the gate")["run"])
    assert sorted(written) == sorted(action["outputs"])


def test_what_comes_after_the_gate_comes_whatever_happened(action: dict[str, Any]) -> None:
    names = [s["name"] for s in action["runs"]["steps"]]
    after = action["runs"]["steps"][names.index("Ask the gate") + 1 :]
    assert len(after) == 3
    assert all(s["if"].startswith("always() && ") for s in after)


@pytest.mark.parametrize(
    ("version", "asked"),
    [
        ("searchmark[dense]==1.0", "searchmark[dense]==1.0"),
        ("action", "/the/action"),
        ("action[dense]", "/the/action[dense]"),
        ("actionable", "actionable"),
        ("$(touch pwned) --help", "$(touch pwned) --help"),
    ],
)
def test_one_requirement_is_installed(
    action: dict[str, Any], tmp_path: Path, version: str, asked: str
) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nfor word; do echo "$word"; done > {tmp_path}/words\n')
    python.chmod(0o755)
    step = named(action, "Install Searchmark")
    script = {**step, "run": f'PATH="{python.parent}:$PATH"\n{step["run"]}'}
    done = run(script, python.parent, {"inputs.version": version}, GITHUB_ACTION_PATH="/the/action")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "words").read_text().splitlines()[-2:] == ["--", asked]
    assert sorted(p.name for p in python.parent.iterdir()) == ["python"]


def ask(action: dict[str, Any], folder: Path, project: str) -> dict[str, str]:
    """Run the gate's step and return its outputs, with the exit code of the last step."""
    files = {name: folder.parent / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        path.write_text("")
    done = run(
        named(action, "Ask the gate"),
        folder,
        {"inputs.project": project, "inputs.reports": "the reports"},
        GITHUB_ACTIONS="true",
        **{name: str(path) for name, path in files.items()},
    )
    assert done.returncode == 0, done.stderr
    lines = files["GITHUB_OUTPUT"].read_text().splitlines()
    outputs = dict(line.split("=", 1) for line in lines)
    code = {"steps.gate.outputs.exit-code": outputs["exit-code"]}
    last = run(named(action, "Pass on the verdict"), folder, code)
    return {**outputs, "last": str(last.returncode), "stdout": done.stdout, "stderr": done.stderr}


def test_the_gate_of_the_demo_passes_fails_and_refuses(
    action: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "workspace"
    place(folder / "demo")
    good = ask(action, folder, "demo")
    assert (good["exit-code"], good["passed"], good["last"]) == ("0", "true", "0")
    assert (good["json"], good["junit"]) == ("the reports/gate.json", "the reports/gate.xml")
    document = json.loads((folder / good["json"]).read_text())
    assert document["passed"] is True
    summary = tmp_path / "GITHUB_STEP_SUMMARY"
    assert summary.read_text() == (folder / good["markdown"]).read_text()

    project = folder / "demo" / "searchmark.toml"
    project.write_text(project.read_text().replace('["keyword", "dense"]', '["keyword"]'))
    bad = ask(action, folder, "demo")
    assert (bad["exit-code"], bad["passed"], bad["last"]) == ("1", "false", "1")
    assert "::error title=Searchmark gate failed (hybrid)::RR fell by" in bad["stdout"]
    assert "### Gate failed: hybrid breaks" in summary.read_text()

    project.write_text(project.read_text().replace('"RR", ', ""))
    refused = ask(action, folder, "demo")
    assert (refused["exit-code"], refused["passed"], refused["last"]) == ("4", "", "4")
    assert "### No verdict on hybrid: not comparable" in summary.read_text()
    assert json.loads((folder / refused["json"]).read_text())["comparable"] is False

    # a project that cannot be read: no report, and none of an earlier build is passed on
    project.write_text("nonsense")
    unread = ask(action, folder, "demo")
    assert (unread["exit-code"], unread["passed"], unread["last"]) == ("2", "", "2")
    assert "json" not in unread
    assert not (folder / "the reports" / "gate.json").exists()
    assert "### No verdict: the input or the project file is wrong" in summary.read_text()


@pytest.mark.parametrize("project", ["$(touch pwned)", '"; touch pwned; "', "--help", "`touch x`"])
def test_an_input_is_only_ever_a_name(action: dict[str, Any], tmp_path: Path, project: str) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    found = ask(action, folder, project)
    assert found["exit-code"] == "2"
    assert f"{project}: no project file here" in found["stderr"]
    assert list(folder.iterdir()) == []


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """Put a made-up `gh` before everything else; it finds no comment, and takes any."""
    folder = tmp_path / "fake"
    folder.mkdir()
    (folder / "gh").write_text(FAKE_GH)
    (folder / "gh").chmod(0o755)
    (folder / "ids").write_text("")
    (folder / "code").write_text("0")
    return folder


def comment(
    action: dict[str, Any], fake: Path, markdown: str, project: str = "demo"
) -> subprocess.CompletedProcess[str]:
    step = named(action, "Comment on the pull request")
    (fake / "gate.md").write_text(markdown)
    values = {
        "inputs.token": "secret",
        "inputs.project": project,
        "steps.gate.outputs.markdown": "gate.md",
        "github.event.pull_request.number": "7",
    }
    script = {**step, "run": f'PATH="{fake}:$PATH"\n{step["run"]}'}
    return run(script, fake, values, FAKE=str(fake), GITHUB_REPOSITORY="me/mine")


VERDICT = "<!-- searchmark-gate -->\n### Gate passed\n"


def test_a_first_comment_is_posted(action: dict[str, Any], fake: Path) -> None:
    done = comment(action, fake, VERDICT)
    assert (done.returncode, done.stdout) == (0, "")
    last = (fake / "calls").read_text().splitlines()[-1]
    assert last.startswith("api --silent -X POST repos/me/mine/issues/7/comments -F body=@")
    assert (fake / "body").read_text() == (
        "<!-- searchmark-gate -->\n<!-- searchmark-gate: demo -->\n### Gate passed\n"
    )


def test_a_later_one_takes_its_place(action: dict[str, Any], fake: Path) -> None:
    (fake / "ids").write_text("111\n222\n")
    assert comment(action, fake, VERDICT).returncode == 0
    last = (fake / "calls").read_text().splitlines()[-1]
    assert last.startswith("api --silent -X PATCH repos/me/mine/issues/comments/111 -F body=@")


def test_the_comment_is_found_by_the_project_s_mark(action: dict[str, Any], fake: Path) -> None:
    assert comment(action, fake, VERDICT, project='a"b -->/$(x)').returncode == 0
    mark = "<!-- searchmark-gate: a_b____/__x_ -->"
    assert (fake / "body").read_text().splitlines()[1] == mark
    first = (fake / "calls").read_text().splitlines()[0]
    listing, _, expression = first.partition(" --jq ")
    assert listing == "api --paginate repos/me/mine/issues/7/comments?per_page=100"
    assert expression == f'.[] | select((.body // "") | contains("{mark}")) | .id'
    if shutil.which("jq"):
        comments = [{"id": 1, "body": None}, {"id": 2, "body": "x"}, {"id": 3, "body": mark + "y"}]
        command = ["jq", expression]
        found = subprocess.run(
            command, input=json.dumps(comments), capture_output=True, text=True, check=True
        )
        assert found.stdout == "3\n"


def test_a_comment_that_cannot_be_written_fails_nothing(action: dict[str, Any], fake: Path) -> None:
    (fake / "code").write_text("1")
    done = comment(action, fake, VERDICT)
    assert done.returncode == 0
    assert done.stdout.startswith("::warning title=Searchmark::the comment could not be written")
    assert not (fake / "body").exists()


def test_a_comment_that_is_too_long_is_cut_at_a_line(action: dict[str, Any], fake: Path) -> None:
    line = "| " + "\u00e9" * 40 + " |\n"
    comment(action, fake, VERDICT + line * 2000)
    body = (fake / "body").read_text()
    assert len(body) < 65536  # what GitHub takes
    *lines, empty, told = body.splitlines(keepends=True)
    assert set(lines[3:]) == {line}
    assert (empty, told) == ("\n", "The rest is left out: the job summary has it all.\n")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_documented_uses_are_right(action: dict[str, Any], repository: Path) -> None:
    text = (repository / "docs" / "ci.md").read_text(encoding="utf-8")
    steps = []
    for block in blocks(text, "yaml"):
        found = yaml.safe_load(block)
        if isinstance(found, dict) and "jobs" in found:
            found = found["jobs"]["gate"]["steps"]
        steps += [step for step in found if isinstance(step, dict)]
    ours = [s for s in steps if s.get("uses", "").startswith("OWNER/searchmark@")]
    assert len(ours) == 2
    assert {key for s in ours for key in s["with"]} <= set(action["inputs"])
    assert set(re.findall(r"steps\.gate\.outputs\.([\w-]+)", text)) <= set(action["outputs"])


def test_every_input_and_output_is_documented_with_its_default(
    action: dict[str, Any], repository: Path
) -> None:
    text = (repository / "docs" / "ci.md").read_text(encoding="utf-8")
    for name, told in action["inputs"].items():
        (cell,) = re.findall(rf"^\| `{name}` \| ([^|]*) \|", text, re.MULTILINE)
        default = {"": "none", "${{ github.token }}": "the job's"}.get(told["default"])
        assert cell == (default or f"`{told['default']}`")
    _, _, outputs = text.partition("| output |")
    table = outputs.partition("\n\n")[0]
    assert [name for name in action["outputs"] if f"`{name}`" not in table] == []


def test_the_documented_script_tells_the_endings_apart(repository: Path, tmp_path: Path) -> None:
    text = (repository / "docs" / "ci.md").read_text(encoding="utf-8")
    (script,) = [b for b in blocks(text, "bash") if "case" in b]
    fake = tmp_path / "searchmark"
    for code, said in ((0, "as good as before"), (1, "worse: a; b"), (3, "no verdict")):
        fake.write_text(f"#!/bin/sh\nexit {code}\n")
        fake.chmod(0o755)
        (tmp_path / "jq").write_text("#!/bin/sh\necho 'a; b'\n")
        (tmp_path / "jq").chmod(0o755)
        done = subprocess.run(
            ["bash", "-c", script],
            env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (code, said + "\n")
