"""The JSON schema of a project file, for editors and for people who generate one."""

from typing import Any

import msgspec

from searchmark.project.entries import SYSTEM_NAME
from searchmark.project.file import ProjectFile
from searchmark.project.meaning import DEFAULT_MEASURES, MAX_DEPTH
from searchmark.systems import SYSTEMS
from searchmark.systems.policy import CallPolicy


def project_schema() -> dict[str, Any]:
    """Return the schema: the file's keys, and each kind of system with its own."""
    kinds = {name: SYSTEMS.load(name).config for name in SYSTEMS.names()}
    (main, limits, *configs), parts = msgspec.json.schema_components(
        [ProjectFile, CallPolicy, *kinds.values()], ref_template="#/$defs/{name}"
    )
    names = dict(zip(kinds, configs, strict=True))
    schema = parts.pop(main["$ref"].rsplit("/", 1)[1])
    shared = parts.pop(limits["$ref"].rsplit("/", 1)[1])["properties"]
    tables = []
    for name, reference in names.items():
        table = dict(parts.pop(reference["$ref"].rsplit("/", 1)[1]))
        table["title"] = f'use = "{name}"'
        table["properties"] = {"use": {"const": name}, **table["properties"], **shared}
        table["required"] = ["use", *table.get("required", [])]
        tables.append(table)
    keys = schema["properties"]
    keys["systems"] = {
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": f"^{SYSTEM_NAME}$"},
        "additionalProperties": {"oneOf": tables},
    }
    keys["measures"] |= {"minItems": 1, "uniqueItems": True, "default": [*DEFAULT_MEASURES]}
    keys["depth"] |= {"minimum": 1, "maximum": MAX_DEPTH}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "searchmark.toml",
        "$defs": parts,
    }
