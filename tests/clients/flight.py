"""Connections of the ADBC driver for Flight SQL, unchanged, to a server under test."""

import adbc_driver_flightsql.dbapi as flight_sql
from adbc_driver_flightsql import DatabaseOptions
from karst import PASSWORD, USER

HEADER = DatabaseOptions.RPC_CALL_HEADER_PREFIX.value


def connect(server, password=PASSWORD, **headers):
    options = {
        "username": USER,
        "password": password,
        DatabaseOptions.TLS_SKIP_VERIFY.value: "true",
        **{HEADER + name.replace("_", "-"): value for name, value in headers.items()},
    }
    uri = f"grpc+tls://127.0.0.1:{server.management_port}"
    return flight_sql.connect(uri, db_kwargs=options, autocommit=True)


def fetched(server, query):
    """All rows of a query, as a table."""
    with connect(server) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetch_arrow_table()
