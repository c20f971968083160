"""Tests that ask searches, over a cluster in place of one server (make test-clients-cluster).

With KARST_TEST_CLUSTER=1, the servers of the modules below are clusters: a search head that is the control plane,
too, and indexers, which run parts of every search. Events of one request are divided among the indexers."""

import itertools
import os
import pathlib

import pytest

from cluster import ALWAYS_SHARED, Process, make_credentials
from karst import Server, buckets_below, wait_for

IS_WANTED = os.environ.get("KARST_TEST_CLUSTER") == "1"
INDEXERS = 3

# Their tests load events over HEC, and ask. Those of test_rest_page.py and test_sdk_js.py send events to the
# management port.
MODULES = {
    "test_app_permissions.py",
    "test_bad_input.py",
    "test_buckets.py",
    "test_changed_events.py",
    "test_console.py",
    "test_console_pages.py",
    "test_custom_commands.py",
    "test_dashboards.py",
    "test_external_lookups.py",
    "test_flight_sql.py",
    "test_function_pages.py",
    "test_jobs.py",
    "test_large_answers.py",
    "test_rest.py",
    "test_samples.py",
    "test_sdk.py",
    "test_sdk_roles.py",
    "test_sdk_suite.py",
    "test_shown_fields.py",
    "test_sql_errors.py",
    "test_sql_pairs.py",
}

# Tests of these modules that are about one process, and why.
TO_INDEXERS = "sends events to the management port, which is not that of an indexer"
ONE_BUCKET = "is about the file of one bucket; each indexer writes one"
LEFT_OUT = {
    "test_bad_input.py::test_a_port_that_is_taken_is_told_at_the_start": "starts another server",
    "test_buckets.py::test_pyarrow_reads_every_event_in_order_of_time": ONE_BUCKET,
    "test_buckets.py::test_extracted_and_indexed_fields_are_columns": ONE_BUCKET,
    "test_buckets.py::test_duckdb_aggregates_the_object_as_karst_does": ONE_BUCKET,
    "test_buckets.py::test_inspect_bucket_prints_summary_row_groups_columns_and_index": ONE_BUCKET,
    "test_console.py::test_a_person_walks_through_the_console": TO_INDEXERS,
    "test_console.py::test_an_administrator_adds_data_and_makes_and_removes_objects": TO_INDEXERS,
    "test_console_pages.py::test_every_page_is_accessible_in_both_schemes_at_every_width": "shows pages of an indexer",
    "test_dashboards.py::test_the_main_tasks_are_done_by_keyboard_alone": TO_INDEXERS,
    "test_rest.py::test_events_sent_to_the_receivers_may_be_compressed": TO_INDEXERS,
    "test_sdk.py::test_an_index_is_created_and_written_to": TO_INDEXERS,
    "test_sdk_suite.py::test_an_extraction_is_a_setting_of_props": TO_INDEXERS,
    "test_sdk_suite.py::test_an_index_is_made_switched_off_written_to_and_removed": TO_INDEXERS,
    "test_sdk_suite.py::test_a_stream_is_taken_in_though_its_sender_leaves_at_once": TO_INDEXERS,
    "test_sdk_suite.py::test_passwords_are_kept_sealed": "the key is among the credentials of the cluster",
}

EVENTS = "/services/collector/event"


class ClusterServer(Process):
    """The search head of a cluster of its own. Senders reach the first indexer at `hec_port`."""

    def __init__(self, directory, object_store=None, environment=None):
        directory = pathlib.Path(directory)
        environment = {"KARST_CONF_DIR": str(directory / "etc"), **(environment or {})}
        self.store = object_store or str(directory / "store")
        self.conf = pathlib.Path(environment["KARST_CONF_DIR"])
        environment["KARST_CLUSTER_DIR"] = str(directory / "credentials")
        super().__init__(directory, ["control-plane", "search-head"], self.store, environment)
        manager = {**environment, "KARST_MANAGER_URI": self.address}
        self.indexers = [
            Process(directory / f"indexer-{number}", ["indexer"], self.store, manager)
            for number in range(INDEXERS)
        ]
        self.turns = itertools.cycle(self.indexers)
        first = self.indexers[0]
        self.hec_port, self.tcp_port, self.udp_port = first.hec_port, first.tcp_port, first.udp_port

    @property
    def all(self):
        return [self, *self.indexers]

    def start(self):
        if not (self.directory / "credentials").exists():
            self.directory.mkdir(parents=True, exist_ok=True)
            make_credentials(self.directory / "credentials")
        local = self.conf / "system" / "local"
        local.mkdir(parents=True, exist_ok=True)
        for file, text in ALWAYS_SHARED.items():
            (local / f"{file}.conf").write_text(text)
        for process in self.all:
            process.launch()
        for process in self.all:
            process.ready()
        return self

    def stop(self, seconds=60):
        codes = [indexer.stop(seconds) for indexer in self.indexers]
        return super().stop(seconds) or next((code for code in codes if code), 0)

    def kill(self):
        for indexer in self.indexers:
            indexer.kill()
        super().kill()

    def log_text(self):
        logs = (process.log for process in self.all)
        return "".join(log.read_text(errors="replace") for log in logs if log.exists())

    def metric(self, name, tls=True, **labels):
        """The sum over all processes."""
        more = sum(indexer.metric(name, **labels) for indexer in self.indexers)
        return super().metric(name, tls, **labels) + more

    def hec(self, body, path=EVENTS, **more):
        if path != EVENTS or not isinstance(body, list) or len(body) < INDEXERS:
            return next(self.turns).hec(body, path, **more)
        # In their order: what comes later has a later index time.
        each = -(-len(body) // INDEXERS)
        for number, indexer in enumerate(self.indexers):
            answer = indexer.hec(body[number * each : (number + 1) * each], path, **more)
            if answer.status != 200:
                break
        return answer

    def hec_get(self, path, headers=None):
        return self.indexers[0].hec_get(path, headers)

    def create_index(self, name):
        super().create_index(name)
        path = f"/services/data/indexes/{name}"
        for indexer in self.indexers:
            is_known = lambda: indexer.rest("GET", path).status == 200
            wait_for(is_known, f"an indexer knows {name}")
        return name

    def roll(self, index):
        for indexer in self.indexers:
            indexer.roll(index)

    def bucket_files(self, index):
        return buckets_below(self.store, index)

    def cli(self, *arguments, **options):
        """Events are sent to an indexer."""
        if arguments[0] == "add":
            return next(self.turns).cli(*arguments, **options)
        return super().cli(*arguments, **options)


def new_server(directory, object_store=None, environment=None):
    """A server, or what a test uses in its place."""
    kind = ClusterServer if IS_WANTED else Server
    return kind(directory, object_store, environment)


def choose(config, items):
    """Leaves the tests that run over a cluster."""
    chosen, others = [], []
    for item in items:
        name = item.path.name
        # With its parameters, or all of them.
        for test in {f"{name}::{item.name}", f"{name}::{item.originalname}"} & LEFT_OUT.keys():
            item.add_marker(pytest.mark.skip(reason=LEFT_OUT[test]))
        (chosen if name in MODULES else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = chosen
