"""The comparison of `make bench-peers`, with few events: what it says about right and wrong answers."""

import sys

import pytest
from karst import ROOT

sys.path[:0] = [str(ROOT / "loadtest/bench"), str(ROOT / "loadtest/peers")]

import asks  # noqa: E402
import bench_peers  # noqa: E402
import duckdb_peer  # noqa: E402
import harness  # noqa: E402
import systems  # noqa: E402
from questions import questions  # noqa: E402


def this_python(system):
    """The tests' own environment has DuckDB."""
    system.python = sys.executable


@pytest.fixture
def compare(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "drop_page_cache", lambda: None)

    def run(events, *keys):
        comparison = bench_peers.Comparison(tmp_path, events, 1, keys)
        comparison.run()
        return comparison

    return run


def test_every_search_of_the_benchmark_can_be_asked_of_every_peer(tmp_path):
    kinds = {asks.ask(one, 0).kind for one in questions("bench", 0, 86_400, ["0123456789abcdef"])}
    for system in systems.systems(None, tmp_path, systems.PEERS):
        can = set(getattr(system.peer, "statements", dir(system.peer)))
        assert kinds <= can | set(system.cannot), system.name
        assert not can & set(system.cannot), system.name


def test_karst_and_a_peer_give_the_answers_of_the_generator(compare, monkeypatch):
    monkeypatch.setattr(systems.InProcess, "set_up", this_python)
    comparison = compare(20_000, "karst", "duckdb")
    assert not comparison.failures
    assert not comparison.skipped
    assert all(cell.warm for cell in comparison.cells.values())
    assert "| search | Karst | DuckDB | DuckDB / Karst |" in comparison.report((0, 0), "")


def test_a_wrong_answer_is_said_and_has_no_time(compare, monkeypatch):
    monkeypatch.setattr(systems.InProcess, "set_up", this_python)
    comparison = compare(1_000, "duckdb")
    right = dict(comparison.cells)
    assert not comparison.failures

    comparison.truths["hosts"].popitem()
    system = comparison.systems[0]
    question = next(one for one in comparison.questions if one.truths == ["hosts"])
    cell = comparison.cell(system, question)
    system.stop()
    assert right[question.name, "DuckDB"].warm
    assert (cell.warm, cell.why) == (None, "**failed**")
    assert question.name in comparison.failures[0]


def test_a_peer_that_cannot_be_installed_is_left_out(compare, monkeypatch, tmp_path):
    monkeypatch.setenv("KARST_TOOLS", str(tmp_path / "tools"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(duckdb_peer.DuckDb, "pins", ("duckdb==0.0.0",))
    comparison = compare(1_000, "duckdb")
    assert "duckdb==0.0.0 did not install" in comparison.skipped["DuckDB"]
    assert not comparison.failures
