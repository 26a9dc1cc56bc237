"""The forms in which a secret value may turn up in a text: as it is, escaped, encoded."""

import base64
import html
import re
from collections.abc import Iterator

PART_FROM = 16
"""From this length on the first half of a value is hidden as well: excerpts are cut anywhere."""

ESCAPED = re.compile(
    r"(?:\\+(?:u00|x)|%(?:25)*|&#[xX]0*)(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa])"
    r"|&#0*(?:4[89]|5[0-7]|6[5-9]|[78][0-9]|9[07-9]|1[01][0-9]|12[0-2]);"
)
"""A letter or a digit that is escaped, as nobody needs to and a few do."""

LONGEST_THOROUGH = 2000
"""Longer values, such as files of keys, are not looked for letter by letter."""

_LEAST_CORE = 5
"""Fewer characters of base64 turn up by chance."""


def forms(value: str, *, is_thorough: bool = False) -> Iterator[str]:
    """Yield regular expressions; each matches the value, or much of it, in some writing.

    Letters and digits are taken as they are, unless it `is_thorough`: that makes for a long search.
    """
    is_letterwise = is_thorough and len(value) <= LONGEST_THOROUGH

    def written(text: str) -> str:
        return "".join(c if _is_plain(c) and not is_letterwise else _writings(c) for c in text)

    yield written(value)
    yield from _base64(value)
    for line in value.splitlines() if "\n" in value else ():  # a key file, shown line by line
        if len(line) >= PART_FROM:
            yield re.escape(line)
    if len(value) >= PART_FROM and "://" not in value:
        yield written(value[: len(value) // 2]) + r"""[^\s"'<>,;)]*"""


def _is_plain(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _writings(character: str) -> str:
    """Return an expression for one character in JSON, Python, a URL, HTML or a shell."""
    literal = character if _is_plain(character) else rf"\\{{0,4}}{re.escape(character)}"
    code = ord(character)
    raw = character.encode("utf-8", "surrogateescape")
    found = [
        literal,
        "".join(f"%(?:25)*(?i:{byte:02x})" for byte in raw),
        "".join(rf"\\+x(?i:{byte:02x})" for byte in raw),
        rf"&#0*{code};",
        rf"&#(?i:x0*{code:x});",
    ]
    if code < 0x10000:
        found.append(rf"\\+u(?i:{code:04x})")
    else:
        pair = character.encode("utf-16-be").hex()
        found += [rf"\\+u(?i:{pair[:4]})\\+u(?i:{pair[4:]})", rf"\\+U(?i:{code:08x})"]
    if code < 0x100:
        found.append(rf"\\+x(?i:{code:02x})")
    if (escaped := html.escape(character)) != character:
        found.append(re.escape(escaped))
    if character.isspace():
        found += [r"\s+", r"\+", *([r"\\+n"] if character == "\n" else ())]
    if character == "'":
        found.append(re.escape("'\"'\"'"))
    return f"(?:{'|'.join(found)})"


def _base64(value: str) -> Iterator[str]:
    """Yield the value's base64 wherever it stands among other bytes, as in ``user:password``.

    Three bytes make four characters, so there are three ways; the characters at either end hold
    bits of the neighbours and are matched whatever they are.
    """
    raw = value.encode("utf-8", "surrogateescape")
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + raw).decode()
        first = -(-shift * 8 // 6)
        core = whole[first : (shift + len(raw)) * 8 // 6]
        if len(core) >= _LEAST_CORE:
            core = "".join({"+": "[-+]", "/": "[_/]"}.get(c, c) for c in core)
            yield rf"[A-Za-z0-9+/_-]?{core}[A-Za-z0-9+/_-]?(?:=|%3D)*"
