import pytest
from export.databases import ask_duckdb, ask_sqlite, postgres


@pytest.fixture(scope="session")
def _server():
    with postgres() as ask:
        yield ask


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def database(request):
    """A dialect, and what asks a database of it."""
    known = {"duckdb": ask_duckdb, "sqlite": ask_sqlite}
    return request.param, known.get(request.param) or request.getfixturevalue("_server")
