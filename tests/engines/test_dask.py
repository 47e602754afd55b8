"""Rows on a Dask cluster: the sums are those of one machine, whatever happens to the workers."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from engines.works import Slow, Sums, counted, devour, pid, refuse, tasks_of_scheduler, tasks_of_worker

from neglog.engines.dask import FilesOnCluster, Partitions, is_dask
from neglog.engines.files import Files

distributed = pytest.importorskip("distributed", reason="a cluster")

import dask  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402
import pyarrow as pa  # noqa: E402
from pyarrow import csv, parquet  # noqa: E402

WORK = Sums(("x", "n"), ("g",))
COLUMNS = ["x", "g", "n"]


@contextmanager
def cluster(**settings):
    with (
        distributed.LocalCluster(threads_per_worker=1, dashboard_address=":0", **settings) as started,
        distributed.Client(started) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with cluster(n_workers=2) as found:
        yield found


@pytest.fixture
def whole(client):
    """The cluster with both workers, whatever a test before did to them."""
    client.wait_for_workers(2, timeout=30)
    return client


def table(rows, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "x": rng.normal(size=rows) * 10.0 ** rng.integers(-3, 4, rows),
            "g": pa.array(rng.choice(["red", "green", "blue", None], rows)),
            "n": rng.integers(0, 100, rows),
            "unread": rng.normal(size=rows),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Five files, the first of three pieces."""
    found = tmp_path_factory.mktemp("folder")
    parquet.write_table(table(900_000), found / "0.parquet", row_group_size=150_000)
    for i in range(1, 5):
        parquet.write_table(table(1000 * i, i), found / f"{i}.parquet", row_group_size=400)
    return found


@pytest.fixture
def small_files(tmp_path):
    (tmp_path / "files").mkdir()
    for i in range(8):
        parquet.write_table(table(100 + i, i), tmp_path / "files" / f"{i}.parquet")
    return tmp_path / "files"


@pytest.fixture
def workers_seen(tmp_path):
    (tmp_path / "pids").mkdir()
    return tmp_path / "pids"


def check_same(one, other):
    assert one["rows"] == other["rows"]
    assert one["firsts"] == other["firsts"]
    assert one["levels"] == other["levels"]
    np.testing.assert_allclose(one["sums"], other["sums"], rtol=1e-14)


def until(condition, seconds=8.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


# ---- sums ------------------------------------------------------------------------------------------------------------


def test_the_sum_is_that_of_files(client, folder):
    here, there = Files(folder), FilesOnCluster(folder, client=client)
    assert len(there.pieces) == 7
    assert there.types == here.types
    assert there.lengths == here.lengths
    check_same(there.total(WORK, COLUMNS), here.total(WORK, COLUMNS))
    assert there.where(901_500) == here.where(901_500)
    assert there.passes == 1


def test_the_sum_is_the_same_to_the_last_bit_for_one_worker_and_two(client, folder):
    two = FilesOnCluster(folder, client=client).total(WORK, COLUMNS)
    with cluster(n_workers=1, processes=False) as other:
        one = FilesOnCluster(folder, client=other).total(WORK, COLUMNS)
    assert one["firsts"] == two["firsts"]
    assert one["sums"].tolist() == two["sums"].tolist()


def test_the_first_pass_counts_the_rows_of_texts(client, tmp_path):
    for i, rows in enumerate([300, 20, 1]):
        csv.write_csv(table(rows, i), tmp_path / f"{i}.csv")
    source = FilesOnCluster(tmp_path, client=client)
    assert source.lengths is None
    assert source.total(Sums(("x",)), ["x"], count=counted)["firsts"] == [piece << 40 for piece in range(3)]
    assert source.lengths == [300, 20, 1]
    assert source.total(Sums(("x",)), ["x"])["firsts"] == [0, 300, 320]
    assert source.where(320) == f"row 0 of {tmp_path / '2.csv'}"
    assert source.passes == 2


def test_one_piece_is_its_own_sum(client, tmp_path):
    parquet.write_table(table(10), tmp_path / "one.parquet")
    source = FilesOnCluster(tmp_path / "one.parquet", client=client)
    check_same(source.total(WORK, COLUMNS, count=counted), Files(source.files.paths[0][0]).total(WORK, COLUMNS))


def test_files_without_row_groups_give_nothing(client, tmp_path):
    parquet.ParquetWriter(tmp_path / "none.parquet", table(1).schema).close()
    assert FilesOnCluster(tmp_path, client=client).total(WORK, COLUMNS, count=counted) is None


@pytest.mark.parametrize("counting", [None, counted])
def test_progress_is_told_as_pieces_end(client, folder, counting):
    told = []
    source = FilesOnCluster(folder, client=client, watch=lambda done, everything: told.append((done, everything)))
    source.total(WORK, COLUMNS, count=counting)
    assert len(told) == 7
    assert told == sorted(told)
    assert told[-1] == (910_000, 910_000)


def test_a_pass_leaves_nothing_on_the_cluster(client, folder):
    source = FilesOnCluster(folder, client=client, watch=lambda *_: None)
    source.total(WORK, COLUMNS, count=counted)
    assert until(lambda: not client.run_on_scheduler(tasks_of_scheduler))


# ---- Dask dataframes -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    """Five partitions, the third and the last empty."""
    rows = table(600_000).to_pandas()
    rows["arrow"] = rows["g"].astype("string[pyarrow]")
    rows["object"] = rows["g"].astype(object)
    rows["level"] = rows["g"].astype("category")
    rows["small"] = rows["x"].astype("float32")
    rows["nullable"] = rows["n"].astype("Int64").where(rows["n"] > 10)
    rows["when"] = pd.Timestamp("2024-02-29") + pd.to_timedelta(rows["n"], unit="D")
    parts = [rows[:290_000], rows[290_000:290_010], rows[:0], rows[290_010:], rows[:0]]
    paths = [tmp_path_factory.getbasetemp() / f"part{i}.pickle" for i in range(5)]
    for part, path in zip(parts, paths, strict=True):
        part.to_pickle(path)
    with dask.config.set({"dataframe.convert-string": False}):
        return rows, dd.from_map(pd.read_pickle, paths, meta=rows[:0])


LEVELS = ("g", "arrow", "object", "level")
NUMBERS = ("x", "small", "nullable")


@pytest.mark.parametrize("persisted", [False, True])
def test_partitions_give_the_sums_of_their_rows(client, frame, persisted):
    rows, lazy = frame
    source = Partitions(lazy.persist() if persisted else lazy, client=client)
    assert source.lengths is None
    found = source.total(Sums(NUMBERS, LEVELS), [*LEVELS, *NUMBERS], count=counted)
    assert found["rows"] == 600_000
    assert source.lengths == [290_000, 10, 0, 309_990, 0]
    for name in LEVELS:
        expected = rows[name].astype(object).where(rows[name].notna(), None).value_counts(dropna=False).to_dict()
        assert {key: count for key, count in found["levels"][name].items() if count} == expected
    np.testing.assert_allclose(found["sums"], [rows[name].sum() for name in NUMBERS], rtol=1e-6)
    assert source.where(290_017) == "partition 3, row 7"
    again = source.total(Sums(NUMBERS), list(NUMBERS))
    assert again["firsts"] == [0, 262_144, 290_000, 290_010, 552_154]
    assert again["sums"].tolist() == found["sums"].tolist()


def test_partitions_have_the_types_of_files(client, frame, tmp_path):
    rows, lazy = frame
    rows.to_parquet(tmp_path / "rows.parquet")
    assert Partitions(lazy, client=client).types == Files(tmp_path).types


def test_a_dataframe_of_files_gives_what_the_files_give(client, folder):
    lazy = dd.read_parquet(folder)
    source = Partitions(lazy[lazy.n > 3], client=client)
    found = source.total(WORK, COLUMNS, count=counted)
    rows = pd.read_parquet(folder, columns=COLUMNS).query("n > 3")
    assert found["rows"] == len(rows)
    np.testing.assert_allclose(found["sums"], [rows["x"].sum(), rows["n"].sum()], rtol=1e-9)


def test_partitions_are_the_same_however_few_columns_are_read(client, tmp_path):
    for i in range(6):
        parquet.write_table(pa.table({f"x{j}": np.full(10 + i, j) for j in range(20)}), tmp_path / f"{i}.parquet")
    source = Partitions(dd.read_parquet(tmp_path), client=client)
    source.total(Sums(("x3",)), ["x3"], count=counted)
    assert source.lengths == [10, 11, 12, 13, 14, 15]
    assert source.total(Sums(("x3",)), list(source.types))["firsts"] == [0, 10, 21, 33, 46, 60]


def test_names_need_not_be_strings(client):
    lazy = dd.from_pandas(pd.DataFrame({0: [1.0, 2.0, 4.0], 1: ["a", "b", "a"]}), npartitions=2)
    found = Partitions(lazy, client=client).total(Sums(("0",), ("1",)), ["0", "1"])
    assert found["sums"] == [7.0]
    assert found["levels"] == {"1": {"a": 2, "b": 1}}


def test_names_that_occur_twice_are_refused(client):
    with pytest.raises(ValueError, match="must have different names"):
        Partitions(dd.from_pandas(pd.DataFrame({"1": [1.0], 1: [2.0]}), npartitions=1), client=client)


def test_a_column_of_mixed_things_is_refused_by_name(client):
    rows = pd.DataFrame({"mixed": [1, "a", 2.5]}, dtype=object)
    with dask.config.set({"dataframe.convert-string": False}):
        lazy = dd.from_map(lambda i: rows, range(2), meta=rows[:0])
        with pytest.raises(ValueError, match=r"partition [01], column 'mixed' cannot be read as dictionary"):
            Partitions(lazy, client=client).total(Sums((), ("mixed",)), ["mixed"])


def test_a_dask_dataframe_is_told_without_an_import_of_dask(frame):
    rows, lazy = frame
    assert is_dask(lazy)
    assert not is_dask(rows)
    code = "import sys; from neglog.engines.dask import is_dask; sys.exit(is_dask(1) or 'dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- what goes wrong -------------------------------------------------------------------------------------------------


def test_an_error_of_the_work_comes_through_as_it_is(client, folder):
    with pytest.raises(ValueError, match=r"^there is a minus sign in the column 'x'$"):
        FilesOnCluster(folder, client=client).total(refuse, ["x"])
    assert until(lambda: not client.run_on_scheduler(tasks_of_scheduler))


def test_a_file_that_vanished_is_named(client, small_files):
    source = FilesOnCluster(small_files, client=client)
    (small_files / "3.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"3\.parquet is no longer there"):
        source.total(WORK, COLUMNS)


@pytest.mark.parametrize("killed", [1, 2])
def test_a_pass_outlives_its_workers(whole, small_files, workers_seen, killed):
    victims = list(whole.run(pid).values())[:killed]

    def kill(done, everything):
        while victims and done < everything:
            os.kill(victims.pop(), signal.SIGKILL)

    doomed = set(victims)
    found = FilesOnCluster(small_files, client=whole, watch=kill).total(Slow(workers_seen), ["x"])
    expected = FilesOnCluster(small_files, client=whole).total(Sums(("x",)), ["x"])
    assert found["firsts"] == expected["firsts"]
    assert found["sums"].tolist() == expected["sums"].tolist()
    assert doomed <= {int(seen.name) for seen in workers_seen.iterdir()}
    assert not doomed & set(whole.run(pid).values())


def test_a_piece_that_kills_its_workers_is_named(small_files):
    settings = {"distributed.scheduler.allowed-failures": 1, "distributed.worker.memory.terminate": 0.95}
    with dask.config.set(settings), cluster(n_workers=1, memory_limit="600MB") as limited:
        source = FilesOnCluster(small_files / "3.parquet", client=limited)
        with pytest.raises(RuntimeError, match=r"3\.parquet, row group 0: 2 workers died.*give each worker more"):
            source.total(devour, ["x"])


@contextmanager
def processes(folder):
    """A scheduler and a worker as processes of their own."""
    place = Path(folder) / "scheduler.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    commands = [
        ["dask_scheduler", "--scheduler-file", place, "--port", "0", "--no-dashboard", "--host", "127.0.0.1"],
        ["dask_worker", "--scheduler-file", place, "--nthreads", "1", "--no-nanny", "--no-dashboard"],
    ]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{command}", *map(str, options)],
            env=environment,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )
        for command, *options in commands
    ]
    try:
        assert until(place.exists, 30)
        with dask.config.set({"distributed.comm.timeouts.connect": "3s"}):
            client = distributed.Client(scheduler_file=str(place), set_as_default=False)
        client.wait_for_workers(1, timeout=30)
        yield client, started[0]
        client.close(timeout=1)
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.parametrize(("how", "timeout"), [(signal.SIGKILL, 60), (signal.SIGSTOP, 4)], ids=["dead", "frozen"])
def test_a_scheduler_that_is_gone_is_noticed(small_files, workers_seen, tmp_path, how, timeout):
    with processes(tmp_path) as (client, scheduler):

        def stop(done, everything):
            scheduler.send_signal(how)
            stopped.append(time.monotonic())

        stopped = []
        source = FilesOnCluster(small_files, client=client, timeout=timeout, watch=stop)
        with pytest.raises(ConnectionError, match="Dask"):
            source.total(Slow(workers_seen), ["x"])
        assert time.monotonic() - stopped[0] < 30
        with pytest.raises(ConnectionError, match="Dask"):
            source.total(Slow(workers_seen), ["x"])


def test_a_cluster_without_workers_is_not_waited_for_endlessly(small_files):
    with cluster(n_workers=0) as empty:
        with pytest.raises(ConnectionError, match="no worker for 2 s"):
            FilesOnCluster(small_files, client=empty, timeout=2).total(WORK, COLUMNS)
        assert until(lambda: not empty.run_on_scheduler(tasks_of_scheduler))


def test_an_interrupt_frees_the_cluster(whole, workers_seen, tmp_path):
    """Also the worker in the middle of a piece, which would take it twenty seconds."""
    parquet.write_table(table(10), tmp_path / "0.parquet")
    parquet.write_table(table(1_310_000), tmp_path / "1.parquet", row_group_size=1_310_000)

    def interrupt(done, everything):
        raise KeyboardInterrupt

    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    with pytest.raises(KeyboardInterrupt):
        FilesOnCluster(paths, client=whole, watch=interrupt).total(Slow(workers_seen, 1.0), ["x"])
    assert until(lambda: not whole.run_on_scheduler(tasks_of_scheduler))
    assert not any(whole.processing().values())
    assert until(lambda: not any(whole.run(tasks_of_worker).values()))


def test_without_a_client_the_error_says_how_to_start_one(folder):
    code = f"from neglog.engines.dask import FilesOnCluster; FilesOnCluster({str(folder)!r})"
    told = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True).stderr
    assert "RuntimeError: " in told
    assert told.endswith("from dask.distributed import Client; client = Client()\n")


def test_the_current_client_is_taken(client, folder):
    assert FilesOnCluster(folder).client is client


def test_without_dask_the_error_says_what_to_install(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "neglog\[dask\]"'):
        FilesOnCluster(folder)
