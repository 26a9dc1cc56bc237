"""Reads the GraphQL of one query, as far as the stand-in of Weaviate needs it."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

TOKEN = re.compile(
    r"""\s*(?:,\s*)*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>-?\d+(?:\.\d+)?)|(?P<text>"[^"\\\n]*")"""
    r"""|(?P<sign>[{}()\[\]:!$=]))(?:\s|,)*"""
)


class GraphQLError(Exception):
    """The text is no query, or does not fit its variables."""


class Field(NamedTuple):
    """A field that is asked for, its arguments with their values, and what is asked of it."""

    name: str
    arguments: dict[str, Any]
    fields: list["Field"]


def read_query(text: str, variables: Mapping[str, Any]) -> list[Field]:
    """Return the fields that a query asks for, its variables replaced by their values."""
    reader = _Reader(text, variables)
    if reader.see("query"):
        reader.take("query")
        if not (reader.see("(") or reader.see("{")):
            reader.take_name()
        if reader.see("("):
            reader.declarations()
    found = reader.selection()
    if reader.tokens:
        raise GraphQLError(f'Syntax Error: Unexpected "{reader.tokens[0]}"')
    unused = reader.declared.keys() - reader.used
    if unused:
        raise GraphQLError(f'Variable "${min(unused)}" is never used')
    return found


class _Reader:
    def __init__(self, text: str, variables: Mapping[str, Any]) -> None:
        self.tokens: list[str] = []
        at = 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise GraphQLError(f"Syntax Error: Unexpected character {text[at]!r}")
            self.tokens.append(match[0].strip(" \t\r\n,"))
            at = match.end()
        self.variables = variables
        self.declared: dict[str, str] = {}
        self.used: set[str] = set()

    def see(self, token: str) -> bool:
        return bool(self.tokens) and self.tokens[0] == token

    def take(self, token: str = "") -> str:
        if not self.tokens or (token and self.tokens[0] != token):
            raise GraphQLError(f"Syntax Error: Expected {token or 'more'}")
        return self.tokens.pop(0)

    def take_name(self) -> str:
        name = self.take()
        if not name.isidentifier():
            raise GraphQLError(f'Syntax Error: Expected Name, found "{name}"')
        return name

    def declarations(self) -> None:
        self.take("(")
        while not self.see(")"):
            self.take("$")
            name = self.take_name()
            self.take(":")
            self.declared[name] = kind = self.type_name()
            self.check(name, kind)
        self.take(")")

    def type_name(self) -> str:
        if self.see("["):
            self.take()
            kind = f"[{self.type_name()}]"
            self.take("]")
        else:
            kind = self.take_name()
        return kind + (self.take() if self.see("!") else "")

    def check(self, name: str, kind: str) -> None:
        value = self.variables.get(name)
        if value is None:
            if kind.endswith("!"):
                raise GraphQLError(f'Variable "${name}" of required type "{kind}" was not provided')
        elif not _fits(value, kind):
            raise GraphQLError(f'Variable "${name}" got an invalid value; expected type "{kind}"')

    def selection(self) -> list[Field]:
        self.take("{")
        found = []
        while not self.see("}"):
            name = self.take_name()
            arguments = self.members("(", ")") if self.see("(") else {}
            found.append(Field(name, arguments, self.selection() if self.see("{") else []))
        self.take("}")
        return found

    def members(self, first: str, last: str) -> dict[str, Any]:
        """Read `name: value` pairs; a variable that is not given leaves its pair out."""
        self.take(first)
        found = {}
        while not self.see(last):
            name = self.take_name()
            self.take(":")
            value = self.value()
            if value is not None:
                found[name] = value
        self.take(last)
        return found

    def value(self) -> Any:
        if self.see("{"):
            return self.members("{", "}")
        if self.see("["):
            self.take()
            listed = []
            while not self.see("]"):
                listed.append(self.value())
            self.take("]")
            return listed
        token = self.take()
        if token == "$":
            name = self.take_name()
            if name not in self.declared:
                raise GraphQLError(f'Variable "${name}" is not defined')
            self.used.add(name)
            return self.variables.get(name)
        if token.startswith('"'):
            return token[1:-1]
        if token in ("true", "false"):
            return token == "true"
        try:
            return float(token) if "." in token else int(token)
        except ValueError:
            raise GraphQLError(f'Syntax Error: Unexpected "{token}"') from None


def _fits(value: Any, kind: str) -> bool:
    kind = kind.removesuffix("!")
    if kind.startswith("["):
        return isinstance(value, list) and all(_fits(item, kind[1:-1]) for item in value)
    if kind == "Int":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, {"String": str, "Float": int | float, "Boolean": bool}[kind])
