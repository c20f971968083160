# make run    builds Karst, starts it, loads sample data and prints what to try next
# make cluster  the same as a cluster of seven processes
# make kubernetes  the same as a cluster of pods
# make test   sets up what the tests need, then runs every test
# make help   the rest

SHELL := /bin/bash
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)
TOOLS := $(CACHE)/karst-tools
export CARGO_TARGET_DIR ?= $(CURDIR)/target
CONSOLE := services/console
CONSOLE_SOURCES := $(shell find $(CONSOLE)/src $(CONSOLE)/index.html $(CONSOLE)/*.json $(CONSOLE)/*.ts -type f 2>/dev/null)

.PHONY: run cluster build image sbom chart kubernetes kubernetes-down cloud-up cloud-down test-kubernetes test-deploy test fuzz test-programs test-rust test-console test-clients test-clients-cluster test-versions simulate tools tools-rust lint lint-format lint-rust lint-docs lint-console lint-repository format bench bench-abuse bench-addons bench-catalog bench-catalog-large bench-cluster bench-deployment bench-hostile bench-ingest bench-kill bench-objects bench-peers bench-remote bench-s3 bench-sql profile-ingest console help clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

run: build ## build, start the server, load sample data
	@ci/demo.sh

cluster: build ## build, start a cluster of processes on this machine, load sample data
	@ci/cluster.sh

build: console ## build all programs
	cargo build --locked --workspace --bins

# zstd is half of gzip, takes minutes, and is what is pushed: make image COMPRESSION=zstd
COMPRESSION ?= gzip

image: build ## container images as OCI archives, target/karst.tar and karst-forwarder.tar
	@ci/image/build $(CARGO_TARGET_DIR)/karst.tar --compression $(COMPRESSION)
	@ci/image/build $(CARGO_TARGET_DIR)/karst-forwarder.tar --program karst-forwarder --compression $(COMPRESSION)

sbom: image ## their parts as CycloneDX, target/karst.cdx.json and karst-forwarder.cdx.json
	@for name in karst karst-forwarder; do ci/image/sbom $(CARGO_TARGET_DIR)/$$name.{tar,cdx.json} || exit; done

chart: ## Helm chart from k8s/: deploy/helm/karst, and its package in target/
	@"$$(ci/tools/python.sh)" -B deploy/helm/generate
	@"$$(ci/tools/helm.sh)" package deploy/helm/karst --destination $(CARGO_TARGET_DIR)

kubernetes: ## a Kubernetes of two nodes on this machine (Linux, root), with Karst in it
	@ci/kubernetes/check
	@$(MAKE) image
	@ci/kubernetes/images "$(CARGO_TARGET_DIR)"
	@ci/kubernetes/up $(CARGO_TARGET_DIR)/karst.tar $(CARGO_TARGET_DIR)/minio.tar
	@ci/kubernetes/deploy

kubernetes-down: ## end it
	@ci/kubernetes/down

cloud-up: ## cloud, cluster and Karst of ENV=dev or prod on AWS; DRY_RUN=1 prints the steps (docs/terraform.md)
	@terraform/cloud up $(ENV)

cloud-down: ## end them, but for the events of prod
	@terraform/cloud down $(ENV)

test-kubernetes: ## scale, drain, cut off and kill it under load; needs make kubernetes
	@ci/kubernetes/single
	@ci/kubernetes/components "$(CARGO_TARGET_DIR)"
	@ci/kubernetes/test scale
	@ci/kubernetes/test drills

test-deploy: ## checks of k8s/ and terraform/
	@ci/deploy.sh

console: $(CONSOLE)/dist/index.html ## build the web console

$(CONSOLE)/node_modules/.package-lock.json: $(CONSOLE)/package-lock.json
	cd $(CONSOLE) && npm ci --no-audit --no-fund --loglevel=error

$(CONSOLE)/dist/index.html: $(CONSOLE)/node_modules/.package-lock.json $(CONSOLE_SOURCES)
	cd $(CONSOLE) && npm run --silent build
	@touch $@

tools-rust: ## install what test-rust needs: S3 server
	@ci/tools/minio.sh

tools: tools-rust ## install test tools: S3 server, OpenTelemetry collector, OpenID and SAML providers, LDAP directory, Python clients, browser
	@ci/tools/python.sh
	@ci/tools/splunk-js.sh
	@ci/tools/chromium.sh
	@ci/tools/otel.sh
	@ci/tools/oidc.sh
	@ci/tools/saml.sh
	@ci/tools/ldap.sh || true # its tests are skipped by name where there is none
	@ci/tools/checkov.sh >/dev/null || true # the same

test: tools test-console test-rust test-clients test-deploy ## install test tools, then run all tests

test-console: $(CONSOLE)/node_modules/.package-lock.json ## unit tests of the console
	cd $(CONSOLE) && npm test --silent

# Examples are programs for measurements: `lint-rust` checks them, and linking them here takes minutes.
TESTS := --locked --workspace --no-fail-fast --lib --bins --tests
test-programs test-rust: export RUSTC_WRAPPER ?= $(CURDIR)/ci/rustc
test-programs: console ## compile the tests of test-rust
	cargo test $(TESTS) --no-run

test-rust: console ## unit, property, specification and crash tests
	set -o pipefail; KARST_REQUIRE_TOOLS=1 cargo test $(TESTS) 2>&1 \
	  | awk -f ci/slowest.awk
	KARST_REQUIRE_TOOLS=1 cargo test --locked --workspace --no-fail-fast --doc

FUZZ_SECONDS ?= 60

fuzz: ## fuzz every decoder, for FUZZ_SECONDS in total
	cargo run --locked -p karst-fuzzing --example decoders -- --seconds $(FUZZ_SECONDS)

SIMULATE_SECONDS ?= 60

simulate: ## a cluster with faults, seed after seed, for SIMULATE_SECONDS (SIMULATE_SEED: one seed)
	cargo build --locked -p karst-simulation -p karst-unify --example simulate
	@SIMULATE_SECONDS=$(SIMULATE_SECONDS) $(CARGO_TARGET_DIR)/debug/examples/simulate

test-clients: build ## real clients against a real server: SDK, pyarrow, curl, browser
	@ci/clients.sh

test-clients-cluster: build ## those that ask searches, over clusters of a search head and three indexers
	@KARST_TEST_CLUSTER=1 ci/clients.sh

test-versions: build ## this version beside another one, OLD=path of its karst: upgrade under load, data directory
	@test -x "$(OLD)" || { echo "usage: make test-versions OLD=path/to/karst" >&2; exit 2; }
	@KARST_OLD_BINARY="$(abspath $(OLD))" ci/clients.sh -s tests/clients/test_versions.py

lint: lint-format lint-rust lint-docs lint-console lint-repository ## format and lint checks

# Their modules are made by a macro (for_each_command! in crates/spl), which rustfmt does not look into.
COMMANDS := crates/*/src/commands/*.rs

lint-format: ## rustfmt, as a check
	cargo fmt --all --check -- $(COMMANDS)

lint-rust: ## clippy
	cargo clippy --locked --workspace --all-targets -- -D warnings

lint-docs: ## rustdoc: links and markup of doc comments
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps

lint-console: $(CONSOLE)/dist/index.html ## lint of the console, sizes of what browsers load
	cd $(CONSOLE) && npm run --silent lint && npm run --silent size

lint-repository: ## dependencies between crates and unused ones, licences, rings of modules, form of files
	cargo run --locked --quiet -p xtask

format: ## format everything
	cargo fmt --all -- $(COMMANDS)

bench: build ## measure ingest and search, compare with targets
	@ci/bench.sh

bench-ingest: build ## measure ingest in detail (BENCH_QUICK=1: check the harness)
	@ci/bench-ingest.sh

bench-peers: build ## compare searches with DuckDB, ClickHouse and tantivy
	@ci/bench-peers.sh

bench-catalog: ## commits a second into the catalog; opening a large one, and planning over it
	@ci/bench-catalog.sh

bench-catalog-large: build ## a control plane over 5,000,000 buckets: memory, restarts, requests (Linux)
	@ci/bench-catalog.sh --large --write

bench-addons: build ## searches with and without add-ons (Linux)
	@ci/bench-addons.sh

bench-objects: build ## cost of a search beside the number of knowledge objects (Linux)
	@ci/bench-objects.sh

bench-sql: build ## compare SPL with SQL in DataFusion over the same Parquet; planning time
	@ci/bench-sql.sh

profile-ingest: build ## flame graphs of ingest into docs/profiles (Linux, perf)
	@ci/profile-ingest.sh

bench-kill: build ## kill -9 server, forwarder and S3 server under load, count lost events
	@ci/bench-kill.sh

bench-abuse: build ## cost of hostile requests, and their effect on other clients (Linux)
	@ci/bench-abuse.sh

bench-hostile: build ## memory, and work after a cancellation, of over 300 hostile searches (Linux)
	@ci/bench-hostile.sh

bench-cluster: build ## takeovers, searches, indexers that leave, and kills in a cluster
	@ci/bench-cluster.sh

bench-deployment: build ## a deployment server with 1,000 simulated forwarders
	@ci/bench-deployment.sh

bench-remote: build ## cost of ackLevel = remote; time until a lost indexer is recovered (BENCH_LOSSES)
	@ci/bench-remote.sh

bench-s3: build ## needle search over 2,000 buckets in S3 at 50 ms latency (BENCH_BUCKETS)
	@ci/bench-s3.sh

clean: ## remove build output
	cargo clean
	rm -rf $(CONSOLE)/dist $(CONSOLE)/node_modules
