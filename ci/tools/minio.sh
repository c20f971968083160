#!/bin/sh
# Builds MinIO, the S3 server of the tests, once, and prints the path of its binary.
. "$(dirname "$0")/tools.sh"
go_tool minio v0.0.0-20260212201848-7aac2a2c5b7c github.com/minio/minio
