"""Every file of the sample data: recognised, cut into the right events, with the right times.

With KARST_SAMPLE_TABLE=FILE the table of docs/source-types.md is written there.
"""

import datetime
import json
import os

import pytest

# File, sourcetype, events, first and last time (None: the log names no year, so it depends on today).
FILES = [
    ("auth/auth.log", "linux_secure", 7121, None),
    ("cloudtrail/cloudtrail.json", "aws:cloudtrail", 394, (1688990078, 1688990317)),
    ("loghub/Android.log", "android", 2000, None),
    ("loghub/Apache.log", "apache_error", 2000, (1133671664, 1133810157)),
    ("loghub/BGL.log", "bgl", 2000, (1117838570.675872, 1136301189.127918)),
    ("loghub/HDFS.log", "hdfs", 2000, (1226262975, 1226398817)),
    ("loghub/HPC.log", "hpc", 2000, (1060163570, 1146100398)),
    ("loghub/Hadoop.log", "hadoop", 2000, (1445191307.978, 1445191855.202)),
    ("loghub/HealthApp.log", "healthapp", 2000, (1514067329.606, 1514077355.789)),
    ("loghub/Linux.log", "linux_secure", 2000, None),
    ("loghub/Mac.log", "syslog", 2000, None),
    ("loghub/OpenSSH.log", "linux_secure", 2000, None),
    ("loghub/OpenStack.log", "openstack", 2000, (1494892800.008, 1494893687.687)),
    ("loghub/Proxifier.log", "proxifier", 2000, None),
    ("loghub/Spark.log", "spark", 2000, (1497039040, 1497039071)),
    ("loghub/Thunderbird.log", "thunderbird", 2000, (1131566461, 1131567332)),
    ("loghub/Windows.log", "windows_cbs", 2000, (1475037030, 1475114680)),
    ("loghub/Zookeeper.log", "zookeeper", 2000, (1438191704.747, 1440501988.145)),
    ("web/apache_access.log", "access_combined", 10000, (1431857100, 1432155959)),
    ("web/nginxplus.json", "_json", 500, (1446249499.322, 1446252053.399)),
    ("windows/sysmon_security.json", "windows:json", 869, (1596607769.626, 1596607841.077)),
    ("zeek/ftp.log", "zeek:ftp:tsv", 93, (1521911724.699488, 1521912052.81345)),
    ("zeek/notice.json", "zeek:json", 207, None),
    ("zeek/ntlm.json", "zeek:json", 422, None),
    ("zeek/smb_mapping.log", "zeek:smb_mapping:tsv", 393, None),
    ("zeek/smtp.json", "zeek:json", 1188, None),
    ("zeek/ssh.json", "zeek:json", 22, None),
    ("zeek/ssh.log", "zeek:ssh:tsv", 22, None),
    ("zeek/x509.json", "zeek:json", 348, None),
]


@pytest.fixture(scope="module")
def loaded(server, sample_data):
    """All files, loaded once: path to its row of counts and times."""
    index = server.create_index("samples")
    for path, *_ in FILES:
        done = server.cli("add", "oneshot", sample_data / path, "--index", index, "--source", path)
        assert done.returncode == 0, f"{path}: {done.stderr}"
    search = (
        "search index=samples | eval guessed=if(abs(_time-_indextime)<300, 1, 0)"
        " | stats count min(_time) AS first max(_time) AS last sum(guessed) AS guessed"
        " by source sourcetype"
    )
    rows = {row["source"]: row for row in server.rows(search)}
    write_table(rows)
    return rows


def write_table(rows):
    """The table of docs/source-types.md."""
    target = os.environ.get("KARST_SAMPLE_TABLE")
    if not target:
        return
    lines = [
        "| file | source type | events | first `_time` (UTC) | last `_time` (UTC) |",
        "| --- | --- | --- | --- | --- |",
    ]
    for path, *_ in FILES:
        row = rows.get(path)
        if row:
            first, last = (
                datetime.datetime.fromtimestamp(float(row[name]), datetime.UTC).isoformat(
                    sep=" ", timespec="milliseconds"
                )[:23]
                for name in ("first", "last")
            )
            lines.append(f"| {path} | {row['sourcetype']} | {row['count']} | {first} | {last} |")
    with open(target, "w") as out:
        out.write("\n".join(lines) + "\n")


@pytest.mark.parametrize("path,sourcetype,events,times", FILES, ids=[one[0] for one in FILES])
def test_a_sample_file_has_its_source_type_events_and_times(
    loaded, path, sourcetype, events, times
):
    row = loaded[path]
    assert (row["sourcetype"], int(row["count"])) == (sourcetype, events)
    assert int(row["guessed"]) == 0, "events without a time of their own"
    first, last = float(row["first"]), float(row["last"])
    if times:
        assert (first, last) == pytest.approx(times, abs=0.001)


def test_no_file_was_cut_into_more_than_one_source_type(server, loaded):
    assert server.value("search index=samples | stats dc(source)") == str(len(FILES))
    assert server.count("index=samples") == sum(int(row["count"]) for row in loaded.values())


def test_the_text_of_the_events_is_that_of_the_file(server, loaded, sample_data):
    for path in ("loghub/HDFS.log", "web/apache_access.log", "windows/sysmon_security.json"):
        lines = (sample_data / path).read_text().splitlines()
        raws = [
            row["_raw"]
            for row in server.export(f'search index=samples source="{path}" | table _raw')
        ]
        assert sorted(raws) == sorted(line for line in lines if line.strip()), path


def test_typical_fields_of_the_formats_are_searchable(server, loaded):
    counts = {
        'source="web/apache_access.log" status=404': 213,
        'source="auth/auth.log" process=sshd': None,
        "sourcetype=aws:cloudtrail eventName=GetUser": None,
        "sourcetype=zeek:ssh:tsv auth_success=*": None,
    }
    for search, expected in counts.items():
        count = server.count(f"index=samples {search}")
        assert count == expected if expected is not None else count > 0, search


def test_json_files_keep_their_objects_whole(server, loaded):
    for row in server.rows("search index=samples sourcetype=aws:cloudtrail | head 20"):
        assert "eventTime" in json.loads(row["_raw"])
