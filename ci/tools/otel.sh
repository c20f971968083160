#!/bin/sh
# Builds the OpenTelemetry collector of the tests, once, and prints the path of its binary: with the
# file log receiver and the Splunk HEC, OTLP/gRPC and OTLP/HTTP exporters.
. "$(dirname "$0")/tools.sh"

version=v0.145.0
confmap=v1.51.0
home="$tools_dir/otelcol-$version"

if [ ! -x "$home/otelcol" ]; then
    builder=$(go_tool builder "$version" go.opentelemetry.io/collector/cmd/builder)
    go=$("$(dirname "$0")/go.sh")
    say "building the OpenTelemetry collector $version (once; a few minutes)"
    work=$(mktemp -d "$tools_dir/.otelcol.XXXXXX")
    trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
    core=go.opentelemetry.io/collector
    contrib=github.com/open-telemetry/opentelemetry-collector-contrib
    cat >"$work/builder.yaml" <<YAML
dist:
  name: otelcol
  output_path: $work/out
  go: $go
receivers:
  - gomod: $contrib/receiver/filelogreceiver $version
  - gomod: $contrib/receiver/splunkhecreceiver $version
  - gomod: $core/receiver/otlpreceiver $version
processors:
  - gomod: $core/processor/batchprocessor $version
exporters:
  - gomod: $contrib/exporter/splunkhecexporter $version
  - gomod: $core/exporter/otlpexporter $version
  - gomod: $core/exporter/otlphttpexporter $version
  - gomod: $core/exporter/debugexporter $version
extensions:
  - gomod: $contrib/extension/storage/filestorage $version
providers:
  - gomod: $core/confmap/provider/fileprovider $confmap
  - gomod: $core/confmap/provider/yamlprovider $confmap
  - gomod: $core/confmap/provider/envprovider $confmap
YAML
    jobs=$(half_of_cores)
    if ! GOFLAGS="-trimpath -p=$jobs" GOTOOLCHAIN=local GOMAXPROCS="$jobs" CGO_ENABLED=0 \
        nice -n 15 "$builder" --config "$work/builder.yaml" >"$work/log" 2>&1; then
        tail -n 20 "$work/log" >&2
        fail "the OpenTelemetry collector $version did not build; check that the Go module proxy ($("$go" env GOPROXY)) is reachable"
    fi
    mkdir -p "$home"
    mv "$work/out/otelcol" "$home/otelcol"
    rm -rf "$work"
    trap - EXIT
fi
echo "$home/otelcol"
