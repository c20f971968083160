"""ClickHouse in process (chdb): a MergeTree with its text index over the lines."""

import json

from peer import SqlPeer

TABLE = """
CREATE TABLE default.events (
    time DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    host LowCardinality(String) CODEC(ZSTD(1)),
    level LowCardinality(String) CODEC(ZSTD(1)),
    method LowCardinality(String) CODEC(ZSTD(1)),
    path LowCardinality(String) CODEC(ZSTD(1)),
    status UInt16 CODEC(ZSTD(1)),
    latency_ms UInt32 CODEC(ZSTD(1)),
    bytes UInt32 CODEC(ZSTD(1)),
    user_id UInt32 CODEC(ZSTD(1)),
    session String CODEC(ZSTD(1)),
    id UInt64 CODEC(Delta, ZSTD(1)),
    raw String CODEC(ZSTD(1)),
    INDEX words raw TYPE text(tokenizer = 'splitByNonAlpha'),
    INDEX users user_id TYPE bloom_filter(0.01) GRANULARITY 1
) ENGINE = MergeTree ORDER BY time
"""

# Fields are at fixed places of a line, so it is cut at spaces: the fastest way to columns.
LOAD = """
INSERT INTO default.events
SELECT
    parseDateTime64BestEffort(part[1], 6, 'UTC'),
    part[2],
    substring(part[4], 7),
    substring(part[5], 8),
    substring(part[6], 6),
    toUInt16(substring(part[7], 8)),
    toUInt32(substring(part[8], 12)),
    toUInt32(substring(part[9], 7)),
    toUInt32(substring(part[10], 9)),
    substring(part[11], 9),
    toUInt64(substring(part[12], 4)),
    line
FROM (
    SELECT line, splitByChar(' ', line, 13) AS part
    FROM file('{file}', 'LineAsString', 'line String')
)
"""


class ClickHouse(SqlPeer):
    name = "ClickHouse"
    pins = ("chdb==4.4.0", "chdb-core==26.9.0")
    module = "chdb"
    settings = (
        "chdb, MergeTree by time, zstd, text index over the line (splitByNonAlpha), bloom filter over"
        " user_id, merged to the end; no query condition cache, which answers a repeated search from the"
        " granules that matched before"
    )
    remarks = {
        "latency": "the percentile is exact, which is also its fastest",
    }
    range = (
        "AND time >= fromUnixTimestamp64Micro({start}, 'UTC')"
        " AND time < fromUnixTimestamp64Micro({end}, 'UTC')"
    )
    statements = {
        "user": "SELECT raw AS _raw FROM events WHERE user_id = {0} ORDER BY time DESC",
        "word": "SELECT raw AS _raw FROM events WHERE hasToken(raw, '{0}') ORDER BY time DESC",
        "count": "SELECT count() AS count FROM events WHERE hasToken(raw, '{0}') {within}",
        "hosts": "SELECT host, count() AS count FROM events GROUP BY host ORDER BY host",
        "errors": """
            SELECT formatDateTime(toStartOfInterval(time, INTERVAL 10 MINUTE), '%Y-%m-%dT%H:%i:%SZ')
                AS _time, count() AS count
            FROM events WHERE status >= 500 GROUP BY 1 ORDER BY 1""",
        "users": "SELECT uniqExact(user_id) AS users FROM events",
        "users_estimated": "SELECT uniq(user_id) AS users FROM events",
        "latency": """
            SELECT path, avg(latency_ms) AS "avg(latency_ms)",
                quantileExact(0.95)(latency_ms) AS "p95(latency_ms)"
            FROM events GROUP BY path ORDER BY path""",
        "session_regex": "SELECT count() AS count FROM events WHERE match(raw, 'session={0}')",
        "phrase": "SELECT count() AS count FROM events WHERE hasPhrase(raw, '{0}')",
        "newest": """
            SELECT raw AS _raw FROM events WHERE hasToken(raw, '{0}') ORDER BY time DESC LIMIT {1}""",
        "extracted": r"""
            SELECT count() AS count FROM events WHERE extract(raw, '{0}=([0-9]+)') != ''""",
    }

    def load(self, file):
        self.open()
        self.session.query(TABLE)
        self.session.query(LOAD.format(file=file))
        self.session.query("OPTIMIZE TABLE default.events FINAL")
        # The parts that were merged stay on disk for minutes.
        stored = (
            "SELECT sum(bytes_on_disk) AS bytes FROM system.parts WHERE active AND table = 'events'"
        )
        bytes_stored = int(self.rows(stored)[0]["bytes"])
        self.session.close()
        return bytes_stored

    def open(self):
        from chdb import session

        self.session = session.Session(str(self.folder / "data"))
        self.session.query("USE default")
        self.session.query("SET use_query_condition_cache = 0")
        return self.rows("SELECT version() AS version")[0]["version"]

    def rows(self, statement):
        return json.loads(str(self.session.query(statement, "JSON")))["data"]


PEER = ClickHouse
