"""One answer of a chat model over the API that OpenAI made usual."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from searchmark.errors import SystemFailedError
from searchmark.systems.jsonapi import JsonApi

PATH = "/chat/completions"

MOST_TOKENS = 10**12
"""What a server says beyond this is no count of what one call cost."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model said; `tokens` are the prompt's and its own, `size` is in bytes."""

    content: str
    is_cut: bool
    tokens: float | None
    size: int


def complete(api: JsonApi, body: Mapping[str, Any]) -> Completion:
    """Post a request and read the first choice; a model that says nothing has failed."""
    document, size = api.post(body)
    choices = document.get("choices") if isinstance(document, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        said = api.wire.secrets.excerpt(msgspec.json.encode(document), 120)
        raise SystemFailedError(f"{api.request.shown} answered without 'choices': {said}")
    choice = choices[0]
    content = _content(choice, api)
    return Completion(content, choice.get("finish_reason") == "length", _tokens(document), size)


def _content(choice: Mapping[str, Any], api: JsonApi) -> str:
    message = choice.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str) and content.strip():
        return content
    reason = choice.get("finish_reason")
    why = ", cut at max_tokens" if reason == "length" else f" (finish_reason {reason!s:.40})"
    refusal = message.get("refusal") if isinstance(message, dict) else None
    if isinstance(refusal, str) and refusal:
        why = f": {api.wire.secrets.excerpt(refusal, 120)}"
    raise SystemFailedError(f"{api.request.shown}: the model said nothing{why}")


def _tokens(document: Mapping[str, Any]) -> float | None:
    usage = document.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    if isinstance(total, bool) or not isinstance(total, int) or not 0 <= total <= MOST_TOKENS:
        return None
    return float(total)
