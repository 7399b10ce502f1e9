# Run `make` for the list of targets.

GO      ?= go
BIN     := bin/freshet
LAB     := bin/freshet-lab
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)

# Many tests wait more than they compute, so more of them run at once than there are cores.
CORES    := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
AT_ONCE  := -parallel $(shell expr 2 \* $(CORES))

# RAPID_CHECKS is how often a property is checked; under -short it is a fifth of that.

# These packages take longest, and begin first so that none of them is left over at the end.
FIRST    := ./ui ./internal/app ./cmd/freshet ./internal/store/postgres ./internal/store/sqlite

# Left out are rules on doc comments, which internal/test/house holds, and on names of tests.
STATICCHECKS := all,-ST1000,-ST1003,-ST1016,-ST1020,-ST1021,-ST1022,-QF1001,-QF1003,-QF1008

.DEFAULT_GOAL := help

.PHONY: help
help: ## print this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/freshet and bin/freshet-lab
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/freshet
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(LAB) ./cmd/freshet-lab

.PHONY: demo
demo: build ## watch a small built-in web under a tight budget, live in the terminal
	$(BIN) demo

.PHONY: setup
setup: ## install what the tests need and the machine lacks
	@sh .ci/setup

.PHONY: fmt
fmt:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$bad" || { echo "not gofmt-ed:"; echo "$$bad"; exit 1; }

.PHONY: check
check: fmt ## the developer's loop: pure packages, SQLite, goldens, one simulated seed; no browser, PostgreSQL or cluster
	TMPDIR=$$(sh .ci/scratch) RAPID_CHECKS=50 $(GO) test -short -p $(shell expr 2 \* $(CORES)) $(AT_ONCE) $(FIRST) ./...

.PHONY: test
test: setup fmt ## install what is missing, then run all tests
	$(GO) vet ./...
	TMPDIR=$$(sh .ci/scratch) RAPID_CHECKS=30 $(GO) test -vet=off $(AT_ONCE) -timeout 30m $(FIRST) ./...

.PHONY: test-long
test-long: setup race simulate torture torture-cluster fuzz ## what takes hours: races, 10,000 seeds, torture, fuzzing
	FRESHET_TEST=long RAPID_CHECKS=300 $(GO) test -timeout 3h ./...

# Races, simulation and fuzzing take hours. Called again, they skip what passed before (.ci/resume).

.PHONY: race
race: ## run the tests of each package under the race detector (needs a C compiler); called again, it goes on
	@$(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}$(GO) test -race -timeout 60m {{.ImportPath}}{{end}}' ./... | sh .ci/resume race

.PHONY: simulate
simulate: ## the whole daemon on a simulated network, disk and clock, with SEEDS (default 10,000) seeds; called again, it goes on
	$(GO) test -c -o bin/simulate.test ./internal/test/simulate
	@for first in $$(seq 1 100 $(or $(SEEDS),10000)); do \
	  echo "bin/simulate.test -test.run TestSimulate -test.timeout 3h -first $$first -seeds 100"; \
	done | sh .ci/resume simulate

.PHONY: lint
lint: fmt ## go vet and staticcheck; freshet builds for other systems
	$(GO) vet ./...
	for os in darwin freebsd windows; do CGO_ENABLED=0 GOOS=$$os $(GO) build -o /dev/null ./cmd/freshet || exit 1; done
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 -checks $(STATICCHECKS) ./...

.PHONY: vuln
vuln: ## look for known vulnerabilities in what the programs call (needs the Internet; VULNDB=file:///path is a copy of the database)
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 $(if $(VULNDB),-db $(VULNDB)) ./...

.PHONY: notices
notices: ## write the licences of what is linked, after a change of go.mod
	$(GO) test ./cmd/freshet -run TestNotices -update

# The certificates of the images are those of this machine.
CERTS ?= /etc/ssl/certs/ca-certificates.crt

include contrib/release/release.mk

.PHONY: peers
peers: build ## check webhooks, CloudEvents, the stream and feeds with the official libraries (needs Node.js 20)
	rm -rf bin/peers && cp -R contrib/peers bin/peers
	cd bin/peers && npm ci --no-audit --no-fund && node check.mjs $(CURDIR)/$(BIN)

.PHONY: automation
automation: build ## run the recipes for Node-RED and n8n, and check the dashboard by the types of Grafana (needs Node.js 20)
	rm -rf bin/automation && cp -R contrib/automation bin/automation
	cd bin/automation && npm ci --no-audit --no-fund --ignore-scripts && node check.mjs $(CURDIR)/$(BIN)

.PHONY: lint-api
lint-api: build ## check the OpenAPI description with two linters and two generators of clients (needs Node.js 20)
	rm -rf bin/lint-api && cp -R contrib/lint-api bin/lint-api
	cd bin/lint-api && npm ci --no-audit --no-fund --ignore-scripts && node lint.mjs $(CURDIR)/$(BIN)

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME (default 30s) each; called again, it goes on
	@git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | \
	  sed -E "s|^(.*)/[^/]*:func (.*)|$(GO) test -run '^$$' -fuzz '^\2$$' -fuzztime $(or $(FUZZTIME),30s) ./\1|" | sh .ci/resume fuzz

.PHONY: torture
torture: build ## break the daemon for FOR (default 10m) from SEED on in every way, and check every promise
	$(LAB) torture --for $(or $(FOR),10m) --seed $(or $(SEED),1) --workers $(or $(WORKERS),2) $(ARGS)

.PHONY: torture-cluster
torture-cluster: build ## break a cluster of three nodes, three workers and PostgreSQL for FOR (default 10m) from SEED, and check every promise
	$(LAB) torture --cluster --for $(or $(FOR),10m) --seed $(or $(SEED),1) $(ARGS)

.PHONY: crash
crash: ## kill the daemon KILLS times (default 200), and do nothing else to it
	$(MAKE) torture FOR=0 ARGS="--faults $(or $(KILLS),200) --faults-only kill,early,freeze,term,power"

.PHONY: query-kills
query-kills: ## kill the daemon KILLS times (default 200) while sinks receive matches, and look for lost and doubled ones
	KILLS=$(or $(KILLS),200) $(GO) test ./cmd/freshet -run TestNoMatchIsLostOverKills -v -timeout 60m

.PHONY: bench
bench: build ## measure a poll against a bare HTTP loop, and the benchmarks of all packages
	$(LAB) bench poll
	$(GO) test -run '^$$' -bench . -benchtime 300ms ./...

.PHONY: bench-compare
bench-compare: build ## measure polls of this commit and of BASE (default HEAD~1) in turn; ARGS="--cases html,json --rounds 9"
	rm -rf bin/base && git worktree prune && git worktree add --detach bin/base $(or $(BASE),HEAD~1)
	cd bin/base && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o ../freshet-lab-base ./cmd/freshet-lab
	git worktree remove --force bin/base
	$(LAB) bench compare --base bin/freshet-lab-base $(ARGS)

.PHONY: move-large
move-large: ## move VERSIONS (default 1,000,000) with ten to a source from SQLite to PostgreSQL and back, in DIR, and say how long each part takes
	FRESHET_MOVE_VERSIONS=$(or $(VERSIONS),1000000) TMPDIR=$(or $(DIR),$${TMPDIR:-/tmp}) FRESHET_POSTGRES_DIR=$(or $(DIR),$${TMPDIR:-/tmp}) $(GO) test ./internal/store/migrate -run TestMove/there -count=1 -v -timeout 6h

.PHONY: keep-large
keep-large: ## import VERSIONS (default 1,000,000) from WARC, export them in each format, back up and restore, kill each midway; say how long and how much memory each takes
	FRESHET_KEEP_VERSIONS=$(or $(VERSIONS),1000000) TMPDIR=$(or $(DIR),$${TMPDIR:-/tmp}) $(GO) test ./cmd/freshet -run 'TestManyVersions$$' -count=1 -v -timeout 12h

.PHONY: page-speed
page-speed: ## open the list of SOURCES (default 100,000) in Chromium and scroll through it: paint, requests, long tasks
	FRESHET_SOURCES=$(or $(SOURCES),100000) $(GO) test ./ui -run TestScrollThroughManySources -count=1 -v -timeout 60m

.PHONY: sites
sites: ## hold the daemon against the lab on 50 sites of 400 pages
	FRESHET_TEST=long FRESHET_SITE_PAGES=400 $(GO) test -run TestLabAgreesWithDaemonOnSites -timeout 60m -count=1 -v ./internal/daemon

.PHONY: alike
alike: ## hold auto against taking turns where pages are alike, at every budget and with every kind of evidence
	FRESHET_TEST=long $(GO) test -run TestAutoLosesNothingToTurns -timeout 60m -count=1 -v ./internal/lab

.PHONY: storage
storage: ## compare stored bytes with git and zstd on the series in the folder FRESHET_BODIES
	@test -n "$$FRESHET_BODIES" || { echo "set FRESHET_BODIES to a folder of NAME.tgz series"; exit 2; }
	$(GO) test -run TestSeries -count=1 -v ./internal/store/sqlite

.PHONY: docs-site
docs-site: build ## write the documentation as a static site into bin/docs
	bin/freshet docs --out bin/docs

.PHONY: results
results: build ## make docs/explanation/results.* from the recordings in the folder FRESHET_TRACES
	@test -n "$$FRESHET_TRACES" || { echo "set FRESHET_TRACES to a folder of recordings"; exit 2; }
	$(LAB) results --traces "$$FRESHET_TRACES" --out docs/explanation/results.md --plot docs/explanation/results.svg --csv docs/explanation/results.csv --cache bin/limits.json

.PHONY: papers
papers: build ## repeat the papers' experiments at full size with SEEDS (default 5) seeds, into bin/papers
	$(LAB) paper --seeds $(or $(SEEDS),5) --out bin/papers $(ARGS)

.PHONY: golden
golden: ## accept what the code says now as the golden files; read the diff afterwards
	$(GO) test ./internal/api ./internal/extract ./internal/sinks/delivery ./internal/lab/synth ./internal/lab -update

.PHONY: house
house: build ## measure the tree: lines by area, exported names, largest types and interfaces, spread of features
	$(GO) run ./internal/test/house/report --binary $(BIN) $(ARGS)

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
