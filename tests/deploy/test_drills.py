"""How the drills of ci/kubernetes judge searches. The drills need a cluster of pods: make test-kubernetes."""

import importlib.util
import math

import pytest

from manifests import ROOT

BASELINES = [(0.05, 0.1), (0.02, 0.1), (0.08, 0.16)]


def bar():
    found = importlib.util.spec_from_file_location("load", ROOT / "ci/kubernetes/load.py")
    load = importlib.util.module_from_spec(found)
    found.loader.exec_module(load)
    return load.Bar()


@pytest.mark.parametrize(("baseline", "limit"), BASELINES)
def test_searches_of_an_operation_may_take_twice_as_long_as_those_of_the_baseline(baseline, limit):
    judged = bar()
    assert judged.cell("none", baseline) == f"{baseline:.2f} s"
    assert judged.cell("met", limit - 0.001) == f"{limit - 0.001:.2f} s" and not judged.missed
    assert judged.cell("missed", limit + 0.01) == f"**{limit + 0.01:.2f} s**"
    assert judged.missed == [f"missed ({limit + 0.01:.2f} s)"]
    assert judged.line().endswith(f"missed by: missed ({limit + 0.01:.2f} s).")


def test_an_operation_without_a_search_misses_the_bar_and_a_baseline_without_one_is_refused():
    judged = bar()
    with pytest.raises(SystemExit, match="no search has ended"):
        judged.cell("none", math.nan)
    judged.cell("none", 0.05)
    judged.cell("silent", math.nan)
    assert judged.missed == ["silent (nan s)"]
