# oooi: targets for contributors. `make help` lists them.
# Two commands do everything on a fresh machine with Go, git, Python and apt:
#   make demo    the main job, on a real Kubernetes and a real HyperShift it brings up itself
#   make test    everything that CI runs

SHELL := /bin/bash
export GOFLAGS ?= -buildvcs=false
export GOTOOLCHAIN ?= local
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.built=$(VERSION)
FUZZTIME ?= 5s

.PHONY: help
help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

.PHONY: build
build: ## the one binary, bin/oooi
	CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o bin/oooi ./cmd/oooi

# Go modules beside the operator's own, whose go.mod lists only what the operator needs.
MODULES := config/bundle config/supply test/testbed

.PHONY: vet
vet: ## formatting, and go vet in every module
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	@set -e; for m in $(MODULES) test/testbed/modules/shim; do echo "go -C $$m vet ./..."; go -C $$m vet ./...; done

.PHONY: unit
unit: vet ## the inner loop: everything that needs neither root nor a cluster
	OOOI_UNIT=1 go test ./cmd/... ./controllers/... ./envoy/... ./edge/... ./hcp/... ./network/... ./test/rules/... ./test/docs/... ./test/golden/...
	go -C config/bundle test ./...

.PHONY: golden
golden: ## accept the current output of the stories; read the difference before you commit it
	UPDATE_GOLDEN=1 go test -run 'Stories|Golden' ./hcp/ 
	UPDATE_GOLDEN=1 go test -run 'Stories|Golden' ./network/
	UPDATE_GOLDEN=1 go test -run 'Stories|Golden' ./network/dhcp ./network/dns ./envoy ./controllers ./cmd/oooi ./test/docs

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (5s)
	@set -e; for f in $$(grep -rlE "^func Fuzz" --include=*_test.go hcp network edge envoy controllers); do \
	  for name in $$(grep -oE '^func Fuzz[A-Za-z0-9]+' $$f | cut -c6-); do \
	    echo "fuzz $$(dirname $$f) $$name"; run="go test -run ^$$ -fuzz ^$$name$$ -fuzztime $(FUZZTIME) ./$$(dirname $$f)"; \
	    $$run || { [ -z "$$(git status --porcelain $$(dirname $$f))" ] && echo "no input failed: again" && $$run; }; done; done

include test/testbed/testbed.mk

.PHONY: test-deps
test-deps: ## install missing Debian packages that the tests need (root)
	@missing=""; for p in gcc libc6-dev libseccomp-dev pkg-config iproute2 nftables iptables conntrack ethtool procps udhcpc isc-dhcp-client bind9-dnsutils openssl \
	  busybox-static bash-static haproxy python3-pip; do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'install ok installed' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then echo "installing$$missing"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $$missing >/dev/null; fi

.PHONY: test
test: build test-deps ## everything that CI runs: unit tests, real clients in namespaces, fuzzing for seconds, and end-to-end tests
	@echo "== formatting and vet"
	$(MAKE) vet
	@echo "== the test cluster's parts (12 minutes of compiling on two cores, once a machine)"
	$(MAKE) testbed-build
	@echo "== units, real protocols, a real API server"
	ENVOY=$$($(testbed) envoy) KUBEBUILDER_ASSETS=$$($(testbed) assets) go test -timeout 15m ./...
	go -C config/bundle test ./...
	go -C config/supply test ./...
	go -C test/testbed/modules/shim test ./...
	@echo "== the worst half-dead edges, with nothing else on the machine"
	ENVOY=$$($(testbed) envoy) OOOI_HALFDEAD=worst go test -count=1 -v -timeout 15m -run TestHalfDead ./test/halfdead
	@echo "== the memory of a full edge"
	$(full_edge)
	@echo "== fuzzing, for seconds"
	$(MAKE) fuzz
	@echo "== the test cluster, and HyperShift on it"
	@mkdir -p bin; set -o pipefail; failed=0; \
	go -C test/testbed test -count=1 -v -timeout 50m -p 1 -parallel 2 ./... 2>&1 | tee bin/e2e.log || failed=1; \
	echo "== how long each took, from 5 s (bin/e2e.log)"; \
	sed -nE 's/^( *)--- (PASS|FAIL): (.*) \(([0-9.]+)s\)$$/\4 \2 \1\3/p' bin/e2e.log | awk '$$1 >= 5 { t = $$1; $$1 = ""; printf "%8.1f s %s\n", t, $$0 }'; \
	[ $$failed = 0 ] || { echo "== what failed"; awk '/_test\.go:[0-9]+: *$$/ { on = 1; n = 0 } /^ *(===|---) / { on = 0 } on && n++ < 40' bin/e2e.log; }; \
	exit $$failed

.PHONY: bench-servers
bench-servers: ## what a DHCP renewal and a DNS answer cost
	go test -run '^$$' -bench . -benchmem -count 3 ./network/dhcp ./network/dns

.PHONY: bench-takeover
bench-takeover: build test-deps ## what VMs notice when an edge fails, changes or is half dead: all tables; BEFORE=path compares with an older oooi (root)
	mkdir -p bin && rm -f bin/takeover.md
	@failed=0; \
	OOOI_HALFDEAD=all OOOI_HALFDEAD_TABLE=$(CURDIR)/bin/takeover.md OOOI_BINARY=$(CURDIR)/bin/oooi OOOI_BINARY_BEFORE=$(abspath $(BEFORE)) \
	  go test -count=1 -v -timeout 90m -run TestHalfDead ./test/halfdead || failed=1; \
	OOOI_TAKEOVER=all OOOI_TAKEOVER_TABLE=$(CURDIR)/bin/takeover.md go -C test/testbed test -count=1 -v -timeout 90m -run TestTakeOver ./e2e || failed=1; \
	cat bin/takeover.md; exit $$failed

.PHONY: bench-idle
bench-idle: build test-deps ## CPU time and memory of an edge that nothing uses; BEFORE=path compares with an older oooi (root)
	rm -f bin/idle.md
	OOOI_IDLE=60s OOOI_IDLE_TABLE=$(CURDIR)/bin/idle.md OOOI_BINARY=$(CURDIR)/bin/oooi OOOI_BINARY_BEFORE=$(abspath $(BEFORE)) go test -count=1 -v -run TestIdle ./test/idle
	cat bin/idle.md

full_edge = OOOI_FULL=8000 OOOI_FULL_TABLE=$(CURDIR)/bin/full.md OOOI_BINARY=$(CURDIR)/bin/oooi ENVOY=$$($(testbed) envoy) \
	KUBEBUILDER_ASSETS=$$($(testbed) assets) go test -count=1 -v -run TestFull ./test/idle

.PHONY: bench-full
bench-full: build test-deps ## memory of an edge with 3,000 leases and 8,000 connections, against its requests and limits (root)
	$(full_edge)
	cat bin/full.md

.PHONY: soak
soak: ## the long versions: ten minutes for each fuzz target, every package with the race detector, every failover fault with 2,500 seeds, ten minutes without an API server
	$(MAKE) fuzz FUZZTIME=10m
	go test -race -timeout 60m ./...
	OOOI_SIMULATION=2500 go test -count=1 -v -timeout 60m -run TestFaults ./edge/failover/simulation
	OOOI_OUTAGE=10m go -C test/testbed test -count=1 -v -timeout 60m -run 'TestTakeOver/API' ./e2e

.PHONY: demo
demo: ## an annotated HostedCluster, and a worker on an isolated VLAN that joins it (DEMO_STRATEGY=lb-ip|lb-name|nodeport|route)
	go -C test/testbed run ./cmd/run ./demo up

.PHONY: demo-down
demo-down: ## remove what make demo left running
	go -C test/testbed run ./cmd/run ./demo down

.PHONY: bundle
bundle: ## generate bundle/ from config/
	go -C config/bundle run .

.PHONY: dependencies
dependencies: ## write docs/dependencies.md: what is linked into the binary, and its licenses
	go -C config/supply run . dependencies

.PHONY: sbom
sbom: build ## the SBOM of bin/oooi in SPDX 2.3: bin/oooi.spdx.json
	go -C config/supply run . sbom $(CURDIR)/bin/oooi > bin/oooi.spdx.json

.PHONY: vulncheck
vulncheck: ## known vulnerabilities in what the binary links; VULNDB=URL asks another database (a copy: file:///path)
	CGO_ENABLED=0 go build -trimpath -o bin/oooi-symbols ./cmd/oooi # bin/oooi has no symbols, so every part of a module would count
	go -C config/supply tool govulncheck $(if $(VULNDB),-db $(VULNDB)) -mode binary $(CURDIR)/bin/oooi-symbols
