"""Queries made from a document's own fields, embedded beside it so that questions find it."""

import re
from collections.abc import Sequence

TEMPLATES = (
    "What does {name} do?",
    "I need something that can {description}",
    "Looking for a service related to {tags}",
)
"""What is asked of a catalog of services; each names the one part it is made of."""

_PART = re.compile(r"\{(name|description|tags)\}")


def synthetic_queries(
    name: str | None,
    description: str | None,
    tags: Sequence[str],
    *,
    templates: Sequence[str] = TEMPLATES,
) -> list[str]:
    """Fill templates from a document's fields.

    Parameters
    ----------
    name, description
        Texts; None or blank where the document has none. The first letter of the description
        becomes a small one, since it continues a sentence.
    tags
        Joined by a comma and a blank.
    templates
        Texts with ``{name}``, ``{description}`` or ``{tags}`` in them.

    Returns
    -------
    One query a template, in order; a template is left out where a part that it names is missing.

    Examples
    --------
    >>> synthetic_queries("Rainy", "Tells the weather", [])
    ['What does Rainy do?', 'I need something that can tells the weather']
    """
    text = description or ""
    parts = {
        "name": name or "",
        "description": text[:1].lower() + text[1:],
        "tags": ", ".join(tags),
    }
    return [
        _PART.sub(lambda found: parts[found[1]], template)
        for template in templates
        if all(parts[part].strip() for part in _PART.findall(template))
    ]
