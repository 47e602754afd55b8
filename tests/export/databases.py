"""Real databases to ask: each takes an Arrow table under a name and the text of a query, and gives columns back."""

import csv
import io
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def ask_duckdb(table, name, query):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    with closing(duckdb.connect()) as connection:
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM given")
        cursor = connection.execute(query)
        return columns_of([own[0] for own in cursor.description], cursor.fetchall())


def ask_sqlite(table, name, query):
    columns, places = ", ".join(map(quoted, table.column_names)), ", ".join("?" * len(table.column_names))
    rows = [[plain(value) for value in row.values()] for row in table.to_pylist()]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE {quoted(name)} ({columns})")
        connection.executemany(f"INSERT INTO {quoted(name)} VALUES ({places})", rows)
        cursor = connection.execute(query)
        return columns_of([own[0] for own in cursor.description], cursor.fetchall())


def plain(value):
    return str(value) if hasattr(value, "isoformat") else value


def columns_of(names, rows):
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


TYPES = {
    pa.string(): "text",
    pa.int64(): "bigint",
    pa.int32(): "integer",
    pa.float64(): "double precision",
    pa.float32(): "real",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
}


def programs():
    """Where PostgreSQL's programs are; None if it is not installed."""
    found = shutil.which("pg_ctl")
    places = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((place for place in reversed(places) if (place / "initdb").exists()), None)


@contextmanager
def postgres():
    """A server of its own on the loopback interface, and what asks it."""
    own = programs()
    if own is None or shutil.which("psql") is None:
        pytest.skip("PostgreSQL is not installed")
    folder = tempfile.mkdtemp(prefix="neglog-postgres-")
    who = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}  # never root
    if who:
        shutil.chown(folder, "postgres", "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])

    def run(program, *arguments):
        subprocess.run([own / program, *arguments], check=True, cwd=folder, capture_output=True, **who)

    data = f"{folder}/data"
    run("initdb", "-D", data, "-U", "neglog", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories= -c fsync=off"
    started = [own / "pg_ctl", "-D", data, "-w", "-l", f"{folder}/log", "-o", options, "start"]
    subprocess.run(started, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who)
    try:
        yield lambda table, name, query: ask_postgres(port, table, name, query)
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


def ask_postgres(port, table, name, query):
    columns = ", ".join(f"{quoted(own.name)} {TYPES[own.type]}" for own in table.schema)
    with tempfile.TemporaryDirectory() as folder:
        file, script = Path(folder, "rows.csv"), Path(folder, "script.sql")
        pyarrow.csv.write_csv(table, file)
        copied = f"\\copy {quoted(name)} from '{file}' with (format csv, header true)"
        script.write_text(
            f"\\pset null NULL\nCREATE TEMPORARY TABLE {quoted(name)} ({columns});\n{copied}\n{query};\n",
            encoding="utf-8",
        )
        command = ["psql", "-h", "127.0.0.1", "-p", port, "-U", "neglog", "-d", "postgres", "-X", "-q", "--csv"]
        done = subprocess.run(
            [*command, "-v", "ON_ERROR_STOP=1", "-f", str(script)], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr[-2000:]
    names, *rows = csv.reader(io.StringIO(done.stdout))
    return columns_of(names, [[None if text == "NULL" else text for text in row] for row in rows])


def numbers(values):
    return np.array([np.nan if value is None else float(value) for value in values])
