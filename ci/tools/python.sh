#!/bin/sh
# Makes the Python environment of the cross-checks once (our buckets opened by other engines, the
# Splunk SDK against our REST, ADBC against our Flight SQL) and prints the path of its interpreter.
. "$(dirname "$0")/tools.sh"

pins="pyarrow==26.0.1 duckdb==2.0.0 splunk-sdk==2.1.1 elasticsearch==8.19.3 moto[s3,sqs,events]==5.2.5 flask==3.1.2 flask-cors==6.0.1 pytest==8.4.2 pytest-xdist==3.8.0 adbc-driver-manager==1.13.0 adbc-driver-flightsql==1.13.0"
python_tool python "$pins" "adbc_driver_flightsql.dbapi, duckdb, elasticsearch, moto.server, pyarrow.parquet, pytest, splunklib.client, xdist"
