GO ?= go
TESTFLAGS ?=
RACE_COUNT ?= 5
SOAK ?= 3m
BASE_URL ?= https://relay-samples.github.io/relay-go/
REV ?= $(shell git rev-parse HEAD 2>/dev/null || echo main)
ADDR ?= 127.0.0.1:8080

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Runs a command with one PostgreSQL for all packages, which it finds, starts or
# installs.
POSTGRES = $(GO) run ./internal/pgtest/cmd/pgtest-server -install .ci/install-postgres
WITH_POSTGRES = RELAY_REQUIRE_POSTGRES=1 $(POSTGRES) --

DOCGEN = $(GO) run ./tools/docgen

# The packages whose concurrency is all in memory.
IN_MEMORY = ./relay ./relay/internal/... ./relay/memory ./relay/relaytest \
	./samples/030-fenced-leadership-and-membership ./samples/fencing-demo

.PHONY: help demo test test-short lint fmt docs docs-check docs-gen serve cover race soak bench postgres

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

demo: ## Watch a stale leader being fenced; needs only Go
	@$(GO) run ./samples/fencing-demo

test: ## Run every test; finds, starts or installs a PostgreSQL
	$(WITH_POSTGRES) $(GO) test $(TESTFLAGS) ./...

test-short: ## Run the tests but for those that take long; skips what needs a PostgreSQL that is not there
	$(GO) test -short $(TESTFLAGS) ./...

lint: ## Check the format, go vet, and staticcheck
	@unformatted=$$(gofmt -l .) && test -z "$$unformatted" || { echo "run make fmt for:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

fmt: ## Format the Go files
	gofmt -w .

docs: ## Record the samples' tests and build the site into site/
	$(DOCGEN) record -o build/results.jsonl
	$(DOCGEN) build -o site -base-url $(BASE_URL) -rev $(REV) -tests build/results.jsonl

docs-check: ## Check the articles: code, links, diagrams, commands, what is generated
	$(DOCGEN) check

docs-gen: ## Write the README's index and each sample's README from the articles
	$(DOCGEN) gen

serve: ## Show the site at ADDR (127.0.0.1:8080) while you write
	$(DOCGEN) serve -addr $(ADDR) $(if $(wildcard build/results.jsonl),-tests build/results.jsonl)

cover: ## Measure how much of relay/ its tests and the samples run
	$(WITH_POSTGRES) $(GO) test -coverprofile=cover.out -coverpkg=./relay/... ./relay/... ./samples/...
	@$(GO) tool cover -func=cover.out | tail -n 1

race: ## Run the in-memory packages RACE_COUNT times under the race detector
	@test "$$($(GO) env CGO_ENABLED)" = 1 && command -v $$($(GO) env CC) >/dev/null || \
		{ echo "the race detector needs a C compiler, such as gcc, and cgo (CGO_ENABLED=1)"; exit 1; }
	$(GO) test -race -count=$(RACE_COUNT) $(TESTFLAGS) $(IN_MEMORY)

soak: ## Run for SOAK (3m) while processes, sessions and a server are killed
	@.ci/install-postgres
	$(GO) run ./tools/chaos -for $(SOAK)

bench: ## Measure against the goals; BENCHFLAGS="-only 1,4 -markdown" narrows it
	RELAY_TEST_POSTGRES=installed $(POSTGRES) -- $(GO) run ./tools/bench $(BENCHFLAGS)

postgres: ## Start a PostgreSQL to play with, until Ctrl-C
	@$(POSTGRES)
