"""`torqued batch`: every kind of file and every engine give the same numbers, once each."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.agreement import assert_agree
from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.tools.cli import batch
from torqued.tools.cli.main import build_parser, main
from torqued.tools.tables import chunk, engines
from torqued.tools.tables.plan import Folder
from torqued.tools.tables.preparation import planned
from torqued.tools.tables.writing import write

COUNT, CHUNK = 300, 64
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.family("chain", 3)


@pytest.fixture(scope="module")
def states(robot: Robot) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    q, v = (np.array(x) for x in zip(*(robot.random_state(rng) for _ in range(COUNT)), strict=True))
    return {"q": q, "v": v, "a": rng.standard_normal((COUNT, 3))}


@pytest.fixture
def table(tmp_path: Path, states: dict[str, Any]) -> Path:
    path = tmp_path / "states.npz"
    np.savez(path, **states)
    return path


def words(table: Path, out: Path, *more: str, operation: str = "inverse_dynamics") -> list[str]:
    command = ["batch", str(table), "--robot", "chain3", "--operation", operation]
    return [*command, "--out", str(out), "--chunk", str(CHUNK), *more]


@pytest.fixture(scope="module")
def expected(robot: Robot, states: dict[str, Any]) -> Any:
    return np.array(
        [robot.inverse_dynamics(*state) for state in zip(*states.values(), strict=True)]
    )


def as_npy(folder: Path, states: dict[str, Any]) -> Path:
    np.save(folder / "states.npy", np.hstack(list(states.values())))
    return folder / "states.npy"


def as_compressed(folder: Path, states: dict[str, Any]) -> Path:
    np.savez_compressed(folder / "small.npz", **states)
    return folder / "small.npz"


def as_lists(folder: Path, states: dict[str, Any]) -> Path:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {name: pyarrow.array(list(x)) for name, x in states.items()}
    path = folder / "lists.parquet"
    parquet.write_table(pyarrow.table(columns), path, row_group_size=70)
    return path


def as_columns(folder: Path, states: dict[str, Any]) -> Path:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {f"{name}_{k}": x[:, k] for name, x in states.items() for k in range(x.shape[1])}
    path = folder / "columns.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    return path


@pytest.mark.parametrize("make", [as_npy, as_compressed, as_lists, as_columns])
def test_states_of_every_kind_of_file_are_read(make, tmp_path, states, expected):
    out = tmp_path / "tau.npy"
    assert main(words(make(tmp_path, states), out)) == 0
    assert_agree(np.load(out), expected, ROUNDING)
    assert not Folder.of(out).path.exists()


def test_results_are_written_as_every_kind_of_file(tmp_path, table, expected):
    parquet = pytest.importorskip("pyarrow.parquet")
    for out in ("tau.npy", "tau.npz", "tau.parquet"):
        assert main(words(table, tmp_path / out)) == 0
    plain = np.load(tmp_path / "tau.npy")
    assert_agree(plain, expected, ROUNDING)
    with np.load(tmp_path / "tau.npz") as file:
        assert list(file) == ["tau"]
        assert np.array_equal(file["tau"], plain)
    rows = parquet.read_table(tmp_path / "tau.parquet")["tau"].to_pylist()
    assert np.array_equal(rows, plain)


def test_quantities_of_frames_have_names_of_their_own(tmp_path, table, robot, states):
    out, frame = tmp_path / "terms.npz", robot.frame_names[-1]
    more = ("--want", "M,J", "--frames", frame)
    assert main(words(table, out, *more, operation="dynamics")) == 0
    with np.load(out) as file:
        assert set(file) == {"M", f"J/{frame}"}
        assert_agree(file["M"][-1], robot.mass_matrix(states["q"][-1]), ROUNDING)
        J = robot.frame_jacobian(states["q"][7], frame)
        assert_agree(file[f"J/{frame}"][7], J, ROUNDING)


def test_interrupted_run_goes_on_where_it_was(tmp_path, table, expected, monkeypatch):
    out = tmp_path / "tau.npy"
    computed: list[int] = []
    real = chunk.compute

    def compute(plan: Any, robot: Any, k: int, states: Any) -> Any:
        if k == 3 and not computed.count(3):
            computed.append(k)
            raise KeyboardInterrupt
        computed.append(k)
        return real(plan, robot, k, states)

    monkeypatch.setattr("torqued.tools.tables.engines.compute", compute)
    assert main(words(table, out)) == 130
    assert not out.exists()
    assert sorted(Folder.of(out).path.glob("chunk-*")) == [
        Folder.of(out).chunk(k) for k in (0, 1, 2)
    ]
    assert main(words(table, out)) == 0
    assert computed == [0, 1, 2, 3, 3, 4]
    assert_agree(np.load(out), expected, ROUNDING)


def test_other_run_in_the_same_place_is_refused(tmp_path, table, capsys):
    out = tmp_path / "tau.npy"
    args = build_parser().parse_args(words(table, out))
    planned(args, Robot.family("chain", 3))
    assert main(words(table, out, operation="forward_dynamics")) == 2  # there is no tau in it
    other = words(table, out)
    other[other.index(str(CHUNK))] = "128"
    assert main(other) == 2
    assert "started with chunk 64, now 128" in capsys.readouterr().err


def test_derivatives_of_a_table(tmp_path, table, robot, states):
    out = tmp_path / "slopes.npz"
    more = ("--of", "inverse_dynamics")
    assert main(words(table, out, *more, operation="derivatives")) == 0
    dq, dv = robot.batch().inverse_dynamics_derivatives(*states.values())
    expected = {"M": robot.batch().mass_matrix(states["q"]), "dtau_dq": dq, "dtau_dv": dv}
    with np.load(out) as file:
        assert set(file) == set(expected)
        assert all(np.array_equal(file[key], x) for key, x in expected.items())


def test_wrong_state_is_named_by_its_row(tmp_path, states, capsys):
    a = states["a"].copy()
    a[200, 1] = np.nan
    np.savez(tmp_path / "wrong.npz", **(states | {"a": a}))
    assert main(words(tmp_path / "wrong.npz", tmp_path / "tau.npy")) == 2
    assert "state 200: a[1] is nan, expected a finite number" in capsys.readouterr().err
    assert not (tmp_path / "tau.npy").exists()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"file": "nowhere.npz"}, "no such file"),
        ({"file": "states.csv"}, "unknown file type"),
        ({"out": "tau.csv"}, "unknown file type"),
        ({"out": "nowhere/tau.npy"}, "the directory does not exist"),
        ({"operation": "dance"}, "dance"),
        ({"operation": "control"}, "requires 'law', which has no option"),
        ({"operation": "derivatives"}, "requires 'of', use --of"),
        ({"operation": "derivatives", "of": "everything"}, "everything"),
        ({"of": "inverse_dynamics"}, "inverse_dynamics does not accept --of"),
        ({"operation": "forward_dynamics"}, "has no 'tau'"),
        ({"want": "M"}, "inverse_dynamics does not accept --want"),
        ({"scheduler": "tcp://nobody:1"}, "--scheduler requires --engine dask"),
        ({"chunk": "-5"}, "--chunk"),
        ({"robot": None}, "no robot given"),
    ],
)
def test_junk_is_refused_with_its_name(change, message, tmp_path, table, capsys):
    given = {"file": str(table), "robot": "chain3", "operation": "inverse_dynamics"}
    given |= {"out": "tau.npy"} | change
    given["out"] = str(tmp_path / given["out"])
    if not Path(given["file"]).is_absolute():
        given["file"] = str(tmp_path / given["file"])
    options = [
        x for key, value in given.items() if key != "file" and value for x in (f"--{key}", value)
    ]
    assert main(["batch", given["file"], *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 junk", b"\x93NUMPY\x01\x00"])
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet"])
def test_files_of_junk_are_refused(content, suffix, tmp_path, capsys):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"states{suffix}"
    path.write_bytes(content)
    assert main(words(path, tmp_path / "tau.npy")) == 2
    assert f"cannot read {path}" in capsys.readouterr().err


def test_several_results_in_a_file_for_one_are_refused_before_computing(tmp_path, table, capsys):
    out = tmp_path / "terms.npy"
    line = ["batch", str(table), "--robot", "chain3", "--operation", "dynamics", "--want", "M,g"]
    assert main([*line, "--out", str(out)]) == 2
    assert ".npy holds one result, not M, g: use .npz" in capsys.readouterr().err
    assert not list(tmp_path.glob("terms*"))


def test_existing_result_is_not_overwritten(tmp_path, table, capsys):
    out = tmp_path / "tau.npy"
    out.write_bytes(b"precious")
    assert main(words(table, out)) == 2
    assert out.read_bytes() == b"precious"


class Cluster:
    """Workers that are processes of their own."""

    def __init__(self) -> None:
        from distributed import Client, LocalCluster

        self.cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        )
        self.client = Client(self.cluster)

    def pids(self) -> list[int]:
        return [int(pid) for pid in self.client.run(os.getpid).values()]

    def close(self) -> None:
        self.client.close()
        self.cluster.close()


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("distributed")
    made = Cluster()
    yield made
    made.close()


def test_local_cluster_warns_of_its_workers_until_it_ends(monkeypatch, caplog):
    distributed = pytest.importorskip("distributed")
    nannies = logging.getLogger("distributed.nanny")

    @contextlib.contextmanager
    def slow_to_end(*args, **options):
        yield
        nannies.warning("Worker process still alive after 4.0 seconds, killing")

    monkeypatch.setattr(distributed, "LocalCluster", slow_to_end)
    monkeypatch.setattr(distributed, "Client", slow_to_end)
    with caplog.at_level(logging.WARNING):
        with engines.cluster(None):
            nannies.warning("Restarting worker")
        nannies.warning("Closed")
    assert caplog.messages == ["Restarting worker", "Closed"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of a cluster whose workers are killed
@pytest.mark.parametrize("files_are_shared", [True, False])
def test_killed_worker_of_a_cluster_loses_and_doubles_nothing(
    cluster, files_are_shared, tmp_path, robot, table, expected, monkeypatch
):
    """The same numbers as from threads, to the last bit."""
    if not files_are_shared:
        monkeypatch.setattr(engines, "all_see", lambda *arguments: False)
    args = build_parser().parse_args(words(table, tmp_path / "tau.npy"))
    args.chunk = 2
    plan, model, folder, _ = planned(args, robot)
    killed: list[int] = []

    def report(done: int) -> None:
        if done > 20 and not killed:
            killed.append(cluster.pids()[0])
            os.kill(killed[0], signal.SIGKILL)

    engines.on_cluster(cluster.client, plan, model, folder, report)
    assert killed
    assert folder.missing(plan) == []
    write(tmp_path / "tau.npy", folder, plan, lambda done: None)
    found = np.load(tmp_path / "tau.npy")
    assert_agree(found, expected, ROUNDING)
    args.out = tmp_path / "here.npy"
    here_plan, _, here, _ = planned(args, robot)
    engines.in_threads(here_plan, robot, here, 2, lambda done: None)
    write(args.out, here, here_plan, lambda done: None)
    assert np.array_equal(np.load(args.out), found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_command_computes_on_a_cluster_at_an_address(cluster, tmp_path, table, expected, states):
    address = cluster.cluster.scheduler_address
    more = ("--engine", "dask", "--scheduler", address)
    assert main(words(table, tmp_path / "tau.npz", *more)) == 0
    with np.load(tmp_path / "tau.npz") as file:
        assert_agree(file["tau"], expected, ROUNDING)
    a = states["a"].copy()
    a[100, 0] = np.inf
    np.savez(tmp_path / "wrong.npz", **(states | {"a": a}))
    with pytest.raises(InputError, match=r"state 100: a\[0\] is inf"):
        args = build_parser().parse_args(words(tmp_path / "wrong.npz", tmp_path / "b.npy", *more))
        batch.run(args)


def test_plan_is_readable(tmp_path, table, robot):
    args = build_parser().parse_args(words(table, tmp_path / "tau.npy"))
    _, _, folder, kept = planned(args, robot)
    assert kept == 0
    plan = json.loads((folder.path / "plan.json").read_text())
    assert (plan["count"], plan["chunk"], plan["operation"]) == (COUNT, CHUNK, "inverse_dynamics")
