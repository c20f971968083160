"""Arrow Flight SQL by the ADBC driver, unchanged, against Karst."""

import adbc_driver_flightsql.dbapi as flight_sql
import pyarrow as pa
import pytest
from adbc_driver_flightsql import DatabaseOptions
from adbc_driver_manager import Error
from flight import connect

START = 1763672400


@pytest.fixture(scope="module")
def events(server):
    name = server.create_index("flight")
    objects = [
        {"event": f"n={n} group=g{n % 3}", "time": START + n, "host": f"h{n % 2}", "index": name}
        for n in range(2_000)
    ]
    assert server.hec(objects).status == 200
    return name


@pytest.fixture
def cursor(server, events):
    with connect(server) as connection, connection.cursor() as cursor:
        yield cursor


def test_rows_come_as_columns(cursor, events):
    cursor.execute(f"SELECT host, count(*) AS n FROM {events} GROUP BY host ORDER BY host")
    table = cursor.fetch_arrow_table()
    assert table.to_pydict() == {"host": ["h0", "h1"], "n": [1_000, 1_000]}
    assert table.schema.field("host").type == pa.string()


def test_all_rows_come_not_only_those_of_maxresultrows(own_server, tmp_path):
    conf = tmp_path / "conf" / "system" / "local"
    conf.mkdir(parents=True)
    server = own_server(environment={"KARST_CONF_DIR": str(tmp_path / "conf")})
    (conf / "limits.conf").write_text("[searchresults]\nmaxresultrows = 10\n")
    server.start()
    index = server.create_index("flight")
    objects = [{"event": f"n={n}", "time": START + n, "index": index} for n in range(500)]
    assert server.hec(objects).status == 200
    with connect(server) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT _raw FROM {index}")
        assert cursor.fetch_arrow_table().num_rows == 500


def test_times_are_times(cursor, events):
    cursor.execute(f"SELECT min(_time) AS first, max(_time) AS last FROM {events}")
    (row,) = cursor.fetchall()
    assert [moment.timestamp() for moment in row] == [START, START + 1_999]


def test_headers_set_the_range(server, events):
    headers = {"karst_earliest": str(START + 10), "karst_latest": str(START + 20)}
    with connect(server, **headers) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {events}")
        assert cursor.fetchall() == [(10,)]


def test_a_quiet_range_has_the_columns_and_no_rows(server, events):
    with connect(server, karst_latest=str(START - 10)) as connection, connection.cursor() as cursor:
        cursor.execute(f'SELECT n, "group" FROM {events}')
        assert cursor.fetch_arrow_table().to_pydict() == {"n": [], "group": []}


def test_a_range_that_is_none_is_named(server, events):
    with connect(server, karst_earliest="soon") as connection, connection.cursor() as cursor:
        with pytest.raises(Error, match="soon"):
            cursor.execute(f"SELECT count(*) FROM {events}")


def test_mistakes_are_told(cursor):
    with pytest.raises(Error, match="nothing_here"):
        cursor.execute("SELECT * FROM nothing_here")
    with pytest.raises(Error, match="(?i)expected"):
        cursor.execute("SELEC 1")


def test_nothing_can_be_changed(cursor, events):
    with pytest.raises(Error):
        cursor.execute(f"DROP TABLE {events}")
    with pytest.raises(Error):
        cursor.execute(f"INSERT INTO {events} VALUES (1)")


def test_a_wrong_password_is_refused(server):
    with pytest.raises(Error, match="(?i)unauth"):
        with connect(server, password="wrong") as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1")


def test_tables_and_their_columns_are_listed(server, events):
    with connect(server) as connection:
        objects = connection.adbc_get_objects(depth="columns", table_name_filter=events)
        (catalog,) = objects.read_all().to_pylist()
        (schema,) = catalog["catalog_db_schemas"]
        (table,) = schema["db_schema_tables"]
        columns = {column["column_name"] for column in table["table_columns"]}
        assert (catalog["catalog_name"], schema["db_schema_name"]) == ("karst", "public")
        assert (table["table_name"], table["table_type"]) == (events, "TABLE")
        assert {"_time", "_raw", "host", "sourcetype"} <= columns
        assert connection.adbc_get_info()["vendor_name"] == "Karst"
        assert "TABLE" in connection.adbc_get_table_types()


def test_a_plan_can_be_explained(cursor, events):
    cursor.execute(f"EXPLAIN SELECT count(*) FROM {events}")
    assert any("Aggregate" in text for _, text in cursor.fetchall())


def test_a_role_sees_its_indexes_only(server, events):
    role = {"name": "flight_reader", "srchIndexesAllowed": "main", "capabilities": "search"}
    user = {"name": "flo", "password": "changeme1", "roles": "flight_reader"}
    assert server.rest("POST", "/services/authorization/roles", role).status == 201
    assert server.rest("POST", "/services/authentication/users", user).status == 201
    options = {
        "username": "flo",
        "password": "changeme1",
        DatabaseOptions.TLS_SKIP_VERIFY.value: "true",
    }
    uri = f"grpc+tls://127.0.0.1:{server.management_port}"
    with flight_sql.connect(uri, db_kwargs=options, autocommit=True) as connection:
        with connection.cursor() as cursor, pytest.raises(Error, match=events):
            cursor.execute(f"SELECT count(*) FROM {events}")
        tables = connection.adbc_get_objects(depth="tables").read_all().to_pylist()
        names = [t["table_name"] for t in tables[0]["catalog_db_schemas"][0]["db_schema_tables"]]
        assert names == ["main"]


def test_a_stream_is_left_in_the_middle(server, events):
    with connect(server) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT a._raw FROM {events} a CROSS JOIN {events} b")
        reader = cursor.fetch_record_batch()
        assert reader.read_next_batch().num_rows > 0
    with connect(server) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1 AS one")
        assert cursor.fetchall() == [(1,)]
