"""Which processes may join a cluster, which may lead it, and what the others are told."""

import pathlib
import shutil
import subprocess

import pytest

from cluster import ALL, Process, numbers
from karst import BINARY, wait_for


def refused(process):
    """The message of a process that does not start."""
    said = process.refused_start()
    (line,) = [line for line in said.splitlines() if line.startswith("karst: ")]
    return line


def test_one_clear_sentence_for_each_reason_not_to_join(cluster, tmp_path):
    cluster = cluster(indexers=1, heads=0)
    cluster.control_plane.start()
    (indexer,) = cluster.indexers
    other = tmp_path / "other"
    subprocess.run([BINARY, "cluster", "init", other], capture_output=True, check=True)
    again = subprocess.run([BINARY, "cluster", "init", other], capture_output=True, text=True)
    assert again.returncode != 0 and "exists already" in again.stderr, again

    def with_(**environment):
        process = Process(tmp_path / "joining", ["indexer"], cluster.store, {})
        process.environment.update(
            {
                "KARST_CLUSTER_DIR": str(cluster.credentials),
                "KARST_MANAGER_URI": cluster.control_plane.address,
                **environment,
            }
        )
        process.environment = {k: v for k, v in process.environment.items() if v is not None}
        return refused(process)

    assert "cluster" in with_(KARST_CLUSTER_DIR=str(other))
    wrong = tmp_path / "wrong"
    shutil.copytree(cluster.credentials, wrong)
    (wrong / "secret").write_text("another secret that is long\n")
    assert "secret" in with_(KARST_CLUSTER_DIR=str(wrong))
    assert "karst cluster init" in with_(KARST_CLUSTER_DIR=str(tmp_path / "nowhere"))
    assert "credentials" in with_(KARST_CLUSTER_DIR=None)
    assert "--manager-uri" in with_(KARST_MANAGER_URI=None)
    assert "--cluster-address" in with_(KARST_CLUSTER_ADDRESS=None)
    lonely = with_(KARST_ROLE="control-plane", KARST_CLUSTER_ADDRESS=None)
    assert "--cluster-address" in lonely
    assert "secret" in with_(KARST_ROLE="control-plane", KARST_CLUSTER_DIR=str(wrong))
    assert "--cluster-dir" in with_(KARST_CLUSTER_DIR=None, KARST_CLUSTER_ADDRESS="0.0.0.0:29887")
    # Nobody is there: it waits, and says for whom.
    cluster.control_plane.kill()
    indexer.launch()

    def waits():
        try:
            answer = indexer.request(indexer.management_port, "GET", "/readyz", tls=True)
        except OSError:
            return False
        waiting = f"waiting for the catalog of {cluster.control_plane.address}"
        return waiting in answer.text and "connection refused" in answer.text

    wait_for(waits, "the indexer says what it waits for, and why", 60)
    wait_for(lambda: "connection refused" in indexer.log_text(), "its log has the reason", 60)
    cluster.control_plane.start()
    indexer.ready()
    cluster.stop()


@pytest.mark.parametrize("theirs", [None, "7d0cfb0e-2bd1-4d5e-9b1c-0e7a8c0f2f11"])
def test_a_process_with_another_object_store_does_not_join(cluster, tmp_path, theirs):
    cluster = cluster(indexers=1, heads=1, standbys=1).start()
    (head,), (indexer,), standby = cluster.heads, cluster.indexers, cluster.control_planes[1]
    indexer.send({"n": 1}, index="main")
    indexer.roll("main")
    own = (pathlib.Path(cluster.store) / "installed" / "store.id").read_text().strip()
    other = tmp_path / "other"
    (other / "installed").mkdir(parents=True)
    if theirs:
        (other / "installed" / "store.id").write_text(theirs)
    before = sorted(other.rglob("*"))
    for process in (head, indexer, standby):
        assert process.stop() == 0
        process.environment["KARST_OBJECT_STORE"] = str(other)
        said = refused(process)
        has = f"its id is {theirs}" if theirs else "it has no id"
        assert said == (
            f"karst: this object store ({other}) is not the object store of the cluster ({has}, "
            f"the cluster's is {own}): correct --object-store"
        )
        process.environment["KARST_OBJECT_STORE"] = cluster.store
        process.start()
    assert sorted(other.rglob("*")) == before, "something was written there"
    assert cluster.leader(head) is cluster.control_plane
    assert head.answer(ALL)[1] == [] and numbers(head.rows(ALL)) == [1]
    cluster.stop()


def test_a_standby_leads_no_catalog_that_it_has_not_followed(cluster):
    """The catalog is gone from the object store: the standby creates no new one, and leads once it is back."""
    cluster = cluster(indexers=0, heads=0, standbys=1).start()
    leader, standby = cluster.control_planes
    leader.kill()
    catalog = pathlib.Path(cluster.store) / "catalog"
    aside = catalog.with_name("aside")
    catalog.rename(aside)
    wait_for(lambda: "this standby does not take over" in standby.log_text(), "its refusal", 60)
    assert not catalog.exists(), "a new catalog was created"
    assert "this process leads now" not in standby.log_text()

    def is_told():
        return standby.metric("karst_health", condition="cannot_lead") == 1

    wait_for(is_told, "the condition cannot_lead", 20)
    aside.rename(catalog)
    wait_for(lambda: "this process leads now" in standby.log_text(), "the standby leads", 60)
    cluster.control_plane.start()
    cluster.stop()


def test_a_process_that_gives_the_address_of_another_one_says_so(cluster):
    cluster = cluster(indexers=2, heads=0).start()
    first, second = cluster.indexers
    second.stop()
    second.environment["KARST_CLUSTER_ADVERTISE"] = first.address
    second.start()
    identity = (first.data / "instance.id").read_text().strip().replace("-", "")
    said = f"at {first.address} is {identity}"
    wait_for(lambda: said in second.log_text(), "the address is said to be another one's", 60)
    assert second.metric("karst_health", condition="wrong_address") == 1
    assert "wrong_address" not in first.log_text()
