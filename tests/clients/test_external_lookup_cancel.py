"""A search that waits for the program of an external lookup can be cancelled: both end."""

import os

import pytest

import karst

TRANSFORMS = """[waits]
external_cmd = waits.py host ip
fields_list = host, ip
"""
PROPS = """[asked]
LOOKUP-waits = waits host AS name OUTPUT ip
"""
# It leaves its number and that of a process of its own, and does not end by itself.
PROGRAM = """import os, pathlib, subprocess, sys, time
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100000)"])
file = pathlib.Path(__file__).parent / "numbers"
(file.parent / "numbers.new").write_text(f"{os.getpid()} {helper.pid}")
(file.parent / "numbers.new").rename(file)
time.sleep(100000)
"""
SEARCHES = {
    "the command lookup": '| makeresults | eval host="h1" | lookup waits host | table host ip',
    "lookup over many rows": "| makeresults count=100000 | streamstats count AS n "
    '| eval host="h".n | lookup waits host | stats count by ip',
    "an automatic lookup": "search sourcetype=asked ip=* | stats count",
    "a subsearch": '| makeresults | append [| makeresults | eval host="h1" | lookup waits host]',
}


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    return tmp_path_factory.mktemp("waits") / "conf" / "apps" / "net" / "bin" / "numbers"


@pytest.fixture(scope="module")
def server(numbers):
    app = numbers.parent.parent
    numbers.parent.mkdir(parents=True)
    (app / "default").mkdir()
    (app / "default" / "transforms.conf").write_text(TRANSFORMS)
    (app / "default" / "props.conf").write_text(PROPS)
    (numbers.parent / "waits.py").write_text(PROGRAM)
    conf = app.parent.parent
    (conf / "system" / "local").mkdir(parents=True)
    (conf / "system" / "local" / "limits.conf").write_text(
        f"[scripts]\nsandbox_write = {numbers.parent}\n"
    )
    server = karst.Server(conf.parent / "karst", environment={"KARST_CONF_DIR": str(conf)}).start()
    assert server.hec([{"event": "name=h1", "sourcetype": "asked"}]).status == 200
    yield server
    server.stop()
    assert "panicked" not in server.log_text()


def is_alive(process):
    """Whether a process runs: one that has ended and that nobody has asked for does not."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_that_waits_for_a_program_can_be_cancelled(server, numbers, name):
    numbers.unlink(missing_ok=True)
    form = {"search": SEARCHES[name], "output_mode": "json", "earliest_time": "0"}
    created = server.rest("POST", "/servicesNS/admin/net/search/jobs", form)
    assert created.status == 201, created
    job = f"/services/search/jobs/{created.json()['sid']}"
    karst.wait_for(numbers.exists, "the program runs", 60)
    processes = [int(number) for number in numbers.read_text().split()]
    assert all(is_alive(process) for process in processes)

    answer = server.rest("POST", f"{job}/control", {"action": "cancel", "output_mode": "json"})
    assert answer.status == 200, answer
    karst.wait_for(lambda: server.rest("GET", job).status == 404, "the job is gone", 60)
    karst.wait_for(lambda: not any(map(is_alive, processes)), "the program has ended", 60)
    assert server.value("| makeresults | eval a=1 | table a") in ("1", 1)


def test_the_program_ends_with_the_server(server, numbers):
    numbers.unlink(missing_ok=True)
    form = {"search": SEARCHES["the command lookup"], "output_mode": "json"}
    assert server.rest("POST", "/servicesNS/admin/net/search/jobs", form).status == 201
    karst.wait_for(numbers.exists, "the program runs", 60)
    processes = [int(number) for number in numbers.read_text().split()]
    server.stop()
    karst.wait_for(lambda: not any(map(is_alive, processes)), "the program has ended", 60)
    assert os.path.exists(numbers)
