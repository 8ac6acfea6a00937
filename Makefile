# Two commands do everything: `make run` and `make test`.
SHELL := /bin/sh
GO    ?= go
BIN   := bin/corral
SRC   := $(shell find . -name '*.go' -o -name '*.sql' -o -name go.mod -o -name go.sum | grep -v '^./bin/')

# ISSUE selects what `make prove` runs: a part of the names of tests, e.g. ISSUE=main-job.
ISSUE ?=

.PHONY: help
help: ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: deps build ## get what is missing, build, open the dashboard
	@exec $(BIN)

.PHONY: deps
deps: ## install tmux and PostgreSQL if they are missing (Debian, as root)
	@scripts/deps

.PHONY: build
build: $(BIN) ## build bin/corral

$(BIN): $(SRC)
	@mkdir -p bin
	$(GO) build -trimpath -o $@ ./cmd/corral

.PHONY: test-deps
test-deps:
	@scripts/deps test

.PHONY: test
test: test-deps ## all tests, quick rounds (under five minutes)
	@GO="$(GO)" scripts/test -parallel 6 -timeout 10m ./...

.PHONY: test-race
test-race: test-deps ## all tests under the race detector
	$(GO) test -race -timeout 20m ./...

.PHONY: e2e
e2e: test-deps ## only the end-to-end tests: the built binary, real tmux, real PostgreSQL
	$(GO) test -count=1 -timeout 20m ./e2e/...

.PHONY: prove
prove: test-deps ## the promises at full length, with timing limits: make prove ISSUE=main-job
	CORRAL_TEST_LEVEL=full $(GO) test -count=1 -v -timeout 120m $(if $(ISSUE),-run '$(shell scripts/proof $(ISSUE))') ./...

.PHONY: bench
bench: test-deps ## benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

FUZZTIME ?= 20s

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (20s)
	@GO="$(GO)" FUZZTIME=$(FUZZTIME) scripts/fuzz

.PHONY: screen
screen: test-deps ## draw the README's screen anew, from a real dashboard
	@GO="$(GO)" scripts/screen

.PHONY: lint
lint: ## vet, staticcheck, formatting
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@out=$$($(GO) tool gofumpt -l .); if [ -n "$$out" ]; then echo "not formatted (make fmt):"; echo "$$out"; exit 1; fi

.PHONY: fmt
fmt: ## format the code
	$(GO) tool gofumpt -w .

.PHONY: check
check: lint test-race ## what must pass before a commit: format, vet, lint, import rule, tests with -race

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
