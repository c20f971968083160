"""DuckDB over one Parquet file: columns and no index."""

from peer import SqlPeer

# Fields are at fixed places of a line, so it is cut at spaces: the fastest way to columns.
LOAD = """
COPY (
    SELECT
        make_timestamp(epoch_us(part[1]::TIMESTAMPTZ)) AS time,
        part[2] AS host,
        part[4][7:] AS level,
        part[5][8:] AS method,
        part[6][6:] AS path,
        part[7][8:]::USMALLINT AS status,
        part[8][12:]::UINTEGER AS latency_ms,
        part[9][7:]::UINTEGER AS bytes,
        part[10][9:]::UINTEGER AS user_id,
        part[11][9:] AS session,
        part[12][4:]::UBIGINT AS id,
        raw
    FROM (
        SELECT raw, string_split(raw, ' ') AS part
        FROM read_csv('{file}', columns = {{'raw': 'VARCHAR'}}, auto_detect = false, header = false,
            delim = '\x01', quote = '', escape = '')
    )
) TO '{parquet}' (FORMAT parquet, COMPRESSION zstd)
"""


class DuckDb(SqlPeer):
    name = "DuckDB"
    pins = ("duckdb==2.0.0",)
    module = "duckdb"
    settings = "one Parquet file, zstd, row groups of the default size, in time order; no index"
    remarks = {
        "word": "as text that a line contains",
        "count": "as text that a line contains, with spaces around it",
        "newest": "as text that a line contains, with spaces around it",
        "latency": "the percentile is exact; the estimating one is off by more than 1 % in small groups",
    }
    range = "AND time >= make_timestamp({start}) AND time < make_timestamp({end})"
    statements = {
        "user": "SELECT raw AS _raw FROM events WHERE user_id = {0} ORDER BY time DESC",
        "word": "SELECT raw AS _raw FROM events WHERE contains(raw, '{0}') ORDER BY time DESC",
        "count": "SELECT count(*) AS count FROM events WHERE contains(raw, ' {0} ') {within}",
        "hosts": "SELECT host, count(*) AS count FROM events GROUP BY host ORDER BY host",
        "errors": """
            SELECT strftime(time_bucket(INTERVAL 10 MINUTE, time), '%Y-%m-%dT%H:%M:%SZ') AS _time,
                count(*) AS count
            FROM events WHERE status >= 500 GROUP BY 1 ORDER BY 1""",
        "users": "SELECT count(DISTINCT user_id) AS users FROM events",
        "users_estimated": "SELECT approx_count_distinct(user_id) AS users FROM events",
        "latency": """
            SELECT path, avg(latency_ms) AS "avg(latency_ms)",
                quantile_cont(latency_ms, 0.95) AS "p95(latency_ms)"
            FROM events GROUP BY path ORDER BY path""",
        "session_regex": """
            SELECT count(*) AS count FROM events WHERE regexp_matches(raw, 'session={0}')""",
        "phrase": "SELECT count(*) AS count FROM events WHERE contains(raw, '{0}')",
        "newest": """
            SELECT raw AS _raw FROM events WHERE contains(raw, ' {0} ') ORDER BY time DESC LIMIT {1}""",
        "extracted": r"""
            SELECT count(*) AS count FROM events WHERE regexp_extract(raw, '{0}=(\d+)', 1) <> ''""",
    }

    @property
    def parquet(self):
        return self.folder / "events.parquet"

    def load(self, file):
        import duckdb

        with duckdb.connect() as connection:
            connection.execute(f"SET temp_directory = '{self.folder}/spilled'")
            connection.execute(LOAD.format(file=file, parquet=self.parquet))
        return self.parquet.stat().st_size

    def open(self):
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET parquet_metadata_cache = true")
        self.connection.execute(f"CREATE VIEW events AS FROM read_parquet('{self.parquet}')")
        return duckdb.__version__

    def rows(self, statement):
        cursor = self.connection.execute(statement)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor.fetchall()]


PEER = DuckDb
