"""What a service serves: a catalog, the fields that can be asked for, the state of its encoder."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from searchmark.retrieval.catalogs import CatalogSearch, Mode
from searchmark.retrieval.constraints import Constraint
from searchmark.web.arm import GuardedEncoder
from searchmark.web.limits import Limits
from searchmark.web.parameters import Parameter, field_parameter, price_parameter

RESERVED = ("query", "limit", "cursor", "max_price", "doc_id")
PRICES = ("amount", "price")


@dataclass(frozen=True, slots=True)
class Served:
    """`filters` are the parameters that filter; `guard` is None where there is no encoder."""

    name: str
    catalog: CatalogSearch
    filters: tuple[Parameter, ...]
    guard: GuardedEncoder | None = None
    mode: Mode = "fused"


def filter_parameters(
    frame: pl.DataFrame, constraints: Sequence[Constraint], limits: Limits
) -> tuple[Parameter, ...]:
    """Return a parameter for every field that can be compared, and one for the price.

    The price is the field that a constraint of the system compares from above, or else one that is
    called so.
    """
    fields = [c for c in frame.columns if is_comparable(frame[c]) and c not in RESERVED]
    found = [field_parameter(name, name, limits) for name in fields]
    bounded = [c.field for c in constraints if c.op in ("<", "<=") and c.field in fields]
    price = next((f for f in (*bounded, *PRICES) if f in fields), None)
    return tuple(found) if price is None else (*found, price_parameter(price))


def is_comparable(column: pl.Series) -> bool:
    """Tell whether a filter can be applied to a column: flat values, or lists of them."""
    whole = column.dtype
    dtype = whole.inner if isinstance(whole, pl.List | pl.Array) else whole
    flat = not dtype.is_nested() and dtype not in (pl.Null, pl.Binary, pl.Object)
    return flat and column.null_count() < len(column)
