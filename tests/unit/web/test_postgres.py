"""What the command line says of the database, beside what the project says."""

import pytest

from searchmark.errors import InputError
from searchmark.systems.catalog_postgres import Config
from searchmark.systems.protocol import Entry
from searchmark.web.postgres import PostgresCatalogOptions, configured


def dsn_of(project: str, option: str | None) -> str:
    entry = Entry("s", "catalog-postgres", Config(dsn=project))
    return configured(entry, PostgresCatalogOptions(dsn=option)).dsn


def test_a_service_asks_the_database_that_a_run_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_URL", "host=x")
    assert dsn_of("", None) == "${DATABASE_URL}"
    assert dsn_of("host=project", None) == "host=project"
    assert dsn_of("host=project", "host=option") == "host=option"
    monkeypatch.setenv("PGHOST", "here")
    assert dsn_of("", None) == ""  # libpq's own variables name it
    assert dsn_of("", "${OTHER}") == "${OTHER}"


def test_a_password_on_the_command_line_is_refused_untold() -> None:
    with pytest.raises(InputError) as caught:
        dsn_of("", "postgresql://u:hunter2@h/db")
    assert str(caught.value).startswith("--dsn: ")
    assert "hunter2" not in str(caught.value)


def test_filling_needs_a_schema() -> None:
    entry = Entry("s", "catalog-postgres", Config())
    with pytest.raises(InputError, match="--fill needs a schema to fill"):
        configured(entry, PostgresCatalogOptions(fill=True))
    assert configured(entry, PostgresCatalogOptions(fill=True, schema="c")).schema == "c"
