"""An object store in a directory of its own, which may be a disk that goes away."""

from karst import wait_for

TIME = "2025-11-20T21:00:00Z"


def send(server, first, count):
    lines = [f"{TIME} n={first + n} {'x' * 1000}" for n in range(count)]
    answer = server.send_raw("\n".join(lines), index="main", sourcetype="plain")
    assert answer.status == 200, answer


def test_events_wait_while_the_directory_is_away_and_nothing_is_written_in_its_place(own_server, tmp_path):
    place, disk = tmp_path / "store", tmp_path / "disk"
    settings = {"KARST_MAX_DATA_SIZE_MIB": "1"}
    server = own_server(object_store=str(place), environment=settings).start()
    send(server, 0, 1000)
    server.roll("main")
    # As umount does: the directory at the place is empty.
    place.rename(disk)
    place.mkdir()
    for batch in range(1, 13):
        send(server, batch * 1000, 1000)
    wait_for(lambda: server.metric("karst_spool_buckets") >= 4, "buckets wait on the disk", 60)
    said = f"the directory {place} of the object store was unmounted, moved or replaced"
    wait_for(lambda: said in server.log_text(), "the log names the directory", 60)
    assert not list(place.iterdir()), "something was written there"
    place.rmdir()
    disk.rename(place)
    server.roll("main")
    wait_for(lambda: server.metric("karst_spool_buckets") == 0, "the spool is empty", 120)
    assert server.count("index=main") == 13_000
    server.kill()
    server.start()
    assert server.count("index=main") == 13_000


def test_a_server_does_not_begin_anew_where_its_store_is_not_mounted(own_server, tmp_path):
    place, disk = tmp_path / "store", tmp_path / "disk"
    server = own_server(object_store=str(place)).start()
    send(server, 0, 100)
    assert server.stop() == 0
    place.rename(disk)
    place.mkdir()
    said = server.refused_start()
    known = server.data / "store.id"
    assert f"this object store ({place}) is not the one" in said and str(known) in said, said
    assert not list(place.iterdir()), "something was written there"
    place.rmdir()
    disk.rename(place)
    server.start()
    assert server.count("index=main") == 100
