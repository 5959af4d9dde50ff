# oooi: targets for contributors. `make help` lists them.
# Three commands do everything on a fresh machine with Go, git, Python and apt:
#   make try     two minutes: what a VM gets from an edge, in network namespaces
#   make demo    the main job, on a real Kubernetes and a real HyperShift it brings up itself
#   make test    everything that CI runs

SHELL := /bin/bash
# One set of flags: what a build, vet or a test compiles, the others find in Go's cache, from any checkout.
export GOFLAGS ?= -buildvcs=false -trimpath
export CGO_ENABLED ?= 0
export GOTOOLCHAIN ?= local
# The programs have a frozen version of Go's cryptographic module, and are in FIPS 140-3 mode unless GODEBUG=fips140=off. So are tests.
export GOFIPS140 ?= v1.0.0
FUZZTIME ?= 5s

.PHONY: help
help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

.PHONY: build
build: ## the programs: bin/oooi (operator, plan, lint), bin/oooi-edge (what edges run), bin/oooi-apiproxy
	go -C config/release run . build

# Go modules beside the operator's own, whose go.mod lists only what the operator needs.
MODULES := config/bundle config/release test/testbed test/oldest test/grafana test/argocd

.PHONY: vet
vet: ## formatting, and go vet in the modules that make test tests
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	go vet -tags oooi_played_clock ./cmd/oooi-edge
	@set -e; for m in $(MODULES) test/testbed/modules/shim; do echo "go -C $$m vet ./..."; go -C $$m vet ./...; done

.PHONY: unit
unit: vet ## the inner loop: everything that needs neither root nor a cluster
	OOOI_UNIT=1 go test -vet=off ./...
	go -C config/bundle test ./...
	go -C config/release test ./catalog ./image # the rest compiles opm
	go -C config/release test -run TestDependencies ./supply

.PHONY: golden
golden: ## accept the current output of the stories; read the difference before you commit it
	UPDATE_GOLDEN=1 go test -run 'Stories|Golden' ./hcp/ ./config/annotations
	UPDATE_GOLDEN=1 go test -run 'Stories|Golden' ./derive ./dhcp/... ./dns/... ./envoy/resources ./controllers ./cmd/oooi/... ./test/docs ./test/recording ./test/rules ./test/monitoring

# fuzz_ended: Go 1.26 can fail when FUZZTIME is over, though no input failed (https://go.dev/issue/75804).
fuzz_ended = [ "$$(grep -A 1 -e '^--- FAIL' bin/fuzz.log | tail -n +2 | xargs)" = "context deadline exceeded" ]

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (5s)
	@mkdir -p bin; set -e; for f in $$(git grep -lE '^func Fuzz' -- '*_test.go'); do \
	  for name in $$(grep -oE '^func Fuzz[A-Za-z0-9]+' $$f | cut -c6-); do \
	    echo "fuzz $$(dirname $$f) $$name"; \
	    go test -run "^$$" -fuzz "^$$name$$" -fuzztime $(FUZZTIME) ./$$(dirname $$f) >bin/fuzz.log 2>&1 || $(fuzz_ended) || { cat bin/fuzz.log; exit 1; }; done; done

include test/testbed/testbed.mk

.PHONY: test-deps
test-deps: ## install missing Debian packages that the tests need (root)
	@missing=""; for p in gcc libc6-dev libseccomp-dev pkg-config iproute2 nftables iptables ipset conntrack ethtool procps udhcpc isc-dhcp-client bind9-dnsutils openssl openssh-client \
	  busybox-static bash-static curl haproxy netcat-openbsd ntpsec-ntpdig python3-pip openvswitch-switch ovn-central ovn-host chromium fonts-dejavu-core mkdocs; do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'install ok installed' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then echo "installing$$missing"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $$missing >/dev/null; fi

# tests runs Go's tests in a directory, as `$(call tests,DIRECTORY,NAME,FORMAT,arguments of go test)`. It ends with what failed, and with which
# tests took 20 s and more. bin/NAME.json has how long each was.
tests = cd $(1) && $(CURDIR)/bin/gotestsum --format $(3) --format-icons text --jsonfile-timing-events $(CURDIR)/bin/$(2).json \
  --post-run-command "$(CURDIR)/bin/gotestsum tool slowest --threshold 20s --jsonfile $(CURDIR)/bin/$(2).json" -- -count=1 -timeout 45m -vet=off -ldflags=-s $(4)

# real names the real programs that tests use, ours too: they are compiled before, never in a test. Without one a test fails.
real = export CI=true OOOI_BINARY=$(CURDIR)/bin/oooi OOOI_EDGE_BINARY=$(CURDIR)/bin/oooi-edge ENVOY KUBEBUILDER_ASSETS KONNECTIVITY CNI_PLUGINS NETPOLD && \
  ENVOY=$$($(testbed) envoy) && KUBEBUILDER_ASSETS=$$($(testbed) assets) && KONNECTIVITY=$$($(testbed) konnectivity) && CNI_PLUGINS=$$($(testbed) cni-plugins) && NETPOLD=$$($(testbed) netpold) &&

# root ends a target that cannot work here.
root = @[ "$$(uname -s) $$(id -u)" = "Linux 0" ] || { echo "make $@ needs root on Linux: it creates network namespaces" >&2; exit 1; }

# begin starts the clock of a long target, and step prints when a part of it begins.
begin = @mkdir -p bin; date +%s >bin/$@.begun
step = @echo "== after $$(( $$(date +%s) - $$(cat bin/$@.begun) )) s: $(1)"

# Tests that only test-long runs on the test cluster.
long_cluster := ^(TestHostedClusters|TestTakeOver|TestRenamedKubeVirt|TestRestored|TestTwoManagementClusters|TestCluster|TestTwoNodes|TestDownAfterUpWasKilled)$$

.PHONY: gotestsum
gotestsum: ## bin/gotestsum, which runs tests, in the version that test/gotestsum pins
	@go -C test/gotestsum build -o $(CURDIR)/bin/gotestsum gotest.tools/gotestsum

.PHONY: test
test: ## everything that CI runs: unit tests, real clients in namespaces, a real API server, and a worker that joins a real HyperShift (root)
	$(root)
	$(begin)
	$(call step,the programs and vet)
	$(MAKE) test-deps build vet gotestsum
	$(call step,the parts of the test cluster: minutes of compiling once a machine)
	$(MAKE) testbed-build
	$(call step,units and real protocols and a real API server)
	@$(real) $(call tests,.,unit,pkgname,-p 4 ./test/operatorbench ./controllers ./...) # those that take minutes first
	$(call step,the other modules)
	@$(call tests,config/bundle,bundle,pkgname,./...)
	@$(call tests,config/release,release,pkgname,./...)
	@$(call tests,test/testbed/modules/shim,shim,pkgname,./...)
	@$(call tests,test/oldest,oldest,pkgname,./...)
	@$(call tests,test/grafana,grafana,pkgname,./...)
	@$(call tests,test/argocd,argocd,pkgname,./...)
	$(call step,a worker joins: the test cluster and HyperShift)
	@$(real) $(call tests,test/testbed,cluster,standard-verbose,-timeout 60m -p 1 -skip '$(long_cluster)' ./...)
	$(call step,done)

.PHONY: test-long
test-long: ## tests that take too long for make test: all strategies and three faults on the cluster, half-dead edges, a full edge, a release, fuzzing, whole tables (root)
	$(root)
	$(begin)
	$(call step,the programs and the test cluster's parts)
	$(MAKE) test-deps build gotestsum testbed-build
	$(call step,long rows of units)
	$(MAKE) long-units
	$(call step,bounds on time with nothing else on the machine)
	$(MAKE) long-calm
	$(call step,the worst half-dead edges with nothing else on the machine)
	$(MAKE) long-halfdead
	$(call step,the memory of a full edge)
	$(full_edge)
	$(call step,a release as its page has it)
	$(MAKE) release-dry-run
	cd bin/release/assets && sha256sum --quiet --check SHA256SUMS
	$(call step,a policy of Advanced Cluster Management)
	$(MAKE) long-acm
	$(call step,fuzzing for seconds)
	$(MAKE) fuzz
	$(call step,the test cluster and HyperShift on it)
	$(MAKE) long-cluster
	@echo "make test-long: all passed in $$(( ($$(date +%s) - $$(cat bin/$@.begun)) / 60 )) min, commit $$(git describe --always --dirty)"

# Parts of test-long: each works alone after `make test-deps build gotestsum testbed-build`.
.PHONY: long-units long-calm long-halfdead long-acm long-cluster
long-units:
	@export OOOI_LONG=1 && $(real) $(call tests,.,unit-long,pkgname,-p 1 -timeout 90m ./...)

# Bounds on time that hold only where nothing else runs on the machine.
long-calm:
	@export OOOI_CALM=1 OOOI_GREEDY=1 OOOI_DARK=10s OOOI_ACCESS_FAULTS=1 && $(real) $(call tests,.,calm,pkgname,-p 1 \
	  -run 'TestFlood|TestRepliesToAbsentHosts|TestAgainstAnAPIServer|TestOneVM|TestABurstWithTraffic|TestADarkEndpoint|TestFaults' \
	  ./cmd/oooi-edge ./dhcp ./edge/kube ./envoy ./test/accessfaults)

long-halfdead:
	@export OOOI_HALFDEAD=worst && $(real) $(call tests,.,halfdead,standard-verbose,-timeout 30m -run TestHalfDead ./test/halfdead)

long-acm:
	go -C test/acm vet ./...
	@$(call tests,test/acm,acm,pkgname,./...)

long-cluster:
	@$(real) $(call tests,test/testbed,cluster-long,standard-verbose,-timeout 120m -p 1 -parallel 2 -run '$(long_cluster)' ./...)

.PHONY: bench-servers
bench-servers: ## what a DHCP renewal, a DNS answer and an NTP answer cost (root)
	go test -run '^$$' -bench . -benchmem -count 3 ./dhcp/... ./dns/... ./ntp
	go test -run '^$$' -bench BenchmarkNTP -count 3 ./cmd/oooi-edge

.PHONY: bench-apiproxy
bench-apiproxy: build ## lists, watches and objects of an API server through oooi-apiproxy, first byte and memory, compared with no proxy and with a plain one, in ROUNDS (9); fails if a goal is missed
	mkdir -p bin && rm -f bin/apiproxy.md
	@failed=0; \
	OOOI_APIPROXY_BINARY=$(CURDIR)/bin/oooi-apiproxy OOOI_APIPROXY_ROUNDS=$(or $(ROUNDS),9) OOOI_APIPROXY_TABLE=$(CURDIR)/bin/apiproxy.md \
	  go test -count=1 -v -timeout 30m -run TestAPIProxyBench ./test/apiproxybench || failed=1; \
	cat bin/apiproxy.md; exit $$failed

.PHONY: bench-compile
bench-compile: ## what an empty Go cache has to compile for the test cluster, by module; fails if it grew
	mkdir -p bin && rm -f bin/compile.md
	@failed=0; \
	OOOI_COMPILE=1 OOOI_COMPILE_TABLE=$(CURDIR)/bin/compile.md go -C test/testbed test -count=1 -v -timeout 30m -run TestCompileUnits ./build || failed=1; \
	cat bin/compile.md; exit $$failed

# Each change up to this version of HyperShift was read.
compared = v0.1.80

.PHONY: drift
drift: ## what changed in HyperShift from OLD (the version on the test cluster) to NEW (the newest that was compared) and touches what oooi reads
	@go -C test/testbed run ./cmd/run ./drift \
	  $(or $(OLD),$$(go -C test/testbed/modules/hypershift list -m -f '{{.Version}}' github.com/openshift/hypershift)) $(or $(NEW),$(compared))

.PHONY: bench-takeover
bench-takeover: build test-deps ## what VMs notice when an edge fails, changes or is half dead: all tables; BEFORE=path compares with an older oooi-edge (root)
	mkdir -p bin && rm -f bin/takeover.md
	@failed=0; \
	OOOI_HALFDEAD=all OOOI_HALFDEAD_TABLE=$(CURDIR)/bin/takeover.md OOOI_EDGE_BINARY=$(CURDIR)/bin/oooi-edge OOOI_EDGE_BINARY_BEFORE=$(abspath $(BEFORE)) \
	  go test -count=1 -v -timeout 90m -run TestHalfDead ./test/halfdead || failed=1; \
	OOOI_TAKEOVER=all OOOI_TAKEOVER_TABLE=$(CURDIR)/bin/takeover.md go -C test/testbed test -count=1 -v -timeout 90m -run TestTakeOver ./e2e || failed=1; \
	cat bin/takeover.md; exit $$failed

.PHONY: bench-idle
bench-idle: build test-deps ## CPU time and memory of an idle edge; BEFORE=path compares with an older oooi-edge (root)
	rm -f bin/idle.md
	OOOI_IDLE=60s OOOI_IDLE_TABLE=$(CURDIR)/bin/idle.md OOOI_EDGE_BINARY=$(CURDIR)/bin/oooi-edge OOOI_EDGE_BINARY_BEFORE=$(abspath $(BEFORE)) go test -count=1 -v -run TestIdle ./test/idle
	cat bin/idle.md

.PHONY: bench-dhcp
bench-dhcp: build test-deps ## leases of our DHCP server, in a real API server, against Kea, dnsmasq and coredhcp, with CLIENTS (4000); fails if a goal is missed (root)
	mkdir -p bin && rm -f bin/dhcp.md
	@failed=0; \
	KUBEBUILDER_ASSETS=$$($(testbed) assets) OOOI_EDGE_BINARY=$(CURDIR)/bin/oooi-edge OOOI_DHCP_CLIENTS=$(or $(CLIENTS),4000) OOOI_DHCP_TABLE=$(CURDIR)/bin/dhcp.md \
	  go test -count=1 -v -timeout 60m -run TestDHCPBench ./test/dhcpbench || failed=1; \
	cat bin/dhcp.md; exit $$failed

.PHONY: bench-dns
bench-dns: build test-deps ## CPU time of an answer of our DNS server, rate and memory, against CoreDNS, knot, unbound and dnsmasq, in ROUNDS (5); fails if a goal is missed (root)
	mkdir -p bin && rm -f bin/dns.md
	@failed=0; \
	OOOI_EDGE_BINARY=$(CURDIR)/bin/oooi-edge OOOI_DNS_ROUNDS=$(or $(ROUNDS),5) OOOI_DNS_TABLE=$(CURDIR)/bin/dns.md \
	  go test -count=1 -v -timeout 30m -run TestDNSBench ./test/dnsbench || failed=1; \
	cat bin/dns.md; exit $$failed

.PHONY: bench-proxy
bench-proxy: test-deps ## CPU time of a connection and of a GB through Envoy as edges run it, rate, round trip and memory, against HAProxy and nginx, in ROUNDS (9); fails if a goal is missed (root)
	mkdir -p bin && rm -f bin/proxy.md
	@failed=0; \
	ENVOY=$$($(testbed) envoy) OOOI_PROXY_ROUNDS=$(or $(ROUNDS),9) OOOI_PROXY_TABLE=$(CURDIR)/bin/proxy.md \
	  go test -count=1 -v -timeout 30m -run TestProxyBench ./test/proxybench || failed=1; \
	cat bin/proxy.md; exit $$failed

.PHONY: bench-access
bench-access: build test-deps ## management access to a VM: rate, round trip, dial and memory of the access proxy, against the kernel, Envoy and konnectivity, and how much a stream slows VMs, in ROUNDS (9); fails if a goal is missed (root)
	mkdir -p bin && rm -f bin/access.md
	@failed=0; \
	ENVOY=$$($(testbed) envoy) KONNECTIVITY=$$($(testbed) konnectivity) OOOI_EDGE_BINARY=$(CURDIR)/bin/oooi-edge OOOI_ACCESS_ROUNDS=$(or $(ROUNDS),9) OOOI_ACCESS_TABLE=$(CURDIR)/bin/access.md \
	  go test -count=1 -v -timeout 30m -run TestAccessBench ./test/accessbench || failed=1; \
	cat bin/access.md; exit $$failed

.PHONY: bench-access-faults
bench-access-faults: build test-deps ## what 100 tunnels to a VM see when an edge, the API server or the plan breaks (root)
	mkdir -p bin && rm -f bin/access-faults.md
	@failed=0; \
	KUBEBUILDER_ASSETS=$$($(testbed) assets) OOOI_EDGE_BINARY=$(CURDIR)/bin/oooi-edge OOOI_ACCESS_FAULTS=1 OOOI_ACCESS_FAULTS_TABLE=$(CURDIR)/bin/access-faults.md \
	  go test -count=1 -v -timeout 30m -run TestFaults ./test/accessfaults || failed=1; \
	cat bin/access-faults.md; exit $$failed

full_edge = @export OOOI_FULL=4000 OOOI_FULL_TABLE=$(CURDIR)/bin/full.md && $(real) $(call tests,.,full,standard-verbose,-run TestFull ./test/idle)

.PHONY: bench-full
bench-full: build test-deps gotestsum ## memory of an edge with 3,000 leases and 4,000 connections, against its requests and limits (root)
	$(full_edge)
	cat bin/full.md

.PHONY: bench-operator
bench-operator: build ## the operator with CLUSTERS (500) hosted clusters, OTHERS (10) times as many unrelated objects, QUIET (10m) without a change
	mkdir -p bin && rm -f bin/operator.md
	KUBEBUILDER_ASSETS=$$($(testbed) assets) OOOI_BINARY=$(CURDIR)/bin/oooi OOOI_OPERATOR_TABLE=$(CURDIR)/bin/operator.md \
	  OOOI_CLUSTERS=$(or $(CLUSTERS),500) OOOI_OTHERS=$(or $(OTHERS),10) OOOI_QUIET=$(or $(QUIET),10m) \
	  go test -count=1 -v -timeout 90m -run TestOperator ./test/operatorbench
	cat bin/operator.md

.PHONY: soak
soak: ## the long versions: ten minutes for each fuzz target, a million random worlds, every package with the race detector, every failover fault with 2,500 seeds, 5,000 histories of two DHCP servers, 200,000 queries to knot, BIND and our DNS server, floods of DNS on a calm machine, 10,000 flaps of a name, of a listener, and of a name between two backends, 1,000 changes with 100 long connections, ten minutes without an API server, ten minutes of killing the operator, two hours of drains, node losses and edits; OTHER=path, a checkout of another version, has the day change to it and back
	$(MAKE) fuzz FUZZTIME=10m
	OOOI_WORLDS=1000000 go test -count=1 -timeout 10h -run TestLaws ./hcp
	OOOI_WORLDS=100000 go test -count=1 -timeout 5h -run TestPlanAndOperatorAgree ./controllers
	CGO_ENABLED=1 go test -race -timeout 60m ./...
	OOOI_SIMULATION=2500 go test -count=1 -v -timeout 60m -run TestFaults ./edge/failover/simulation
	OOOI_LAW_SEEDS=5000 go test -count=1 -v -timeout 10h -run TestLawsOfTwoEdges ./dhcp
	OOOI_DNS_QUESTIONS=200000 go test -count=1 -v -timeout 60m -run TestJudges ./dns
	$(MAKE) build gotestsum
	$(MAKE) long-calm
	OOOI_CHANGES=1000 go test -count=1 -v -timeout 60m -run TestNothingCutsLongConnections ./envoy
	OOOI_DARK=45s go test -count=1 -v -timeout 60m -run TestADarkEndpoint ./envoy
	OOOI_FLAPS=10000 go test -count=1 -v -timeout 60m -run TestFlaps ./envoy
	KUBEBUILDER_ASSETS=$$($(testbed) assets) OOOI_CHAOS=10m go test -count=1 -v -timeout 60m -run TestChaos ./test/operatorbench
	OOOI_OUTAGE=10m go -C test/testbed test -count=1 -v -timeout 60m -run 'TestTakeOver/API' ./e2e
	OOOI_DAY=$(or $(DAY),2h) OOOI_OTHER=$(abspath $(OTHER)) go -C test/testbed test -count=1 -v -timeout 25h -run 'TestTakeOver/day' ./e2e

.PHONY: try
try: ## what a VM gets from an edge, in network namespaces and without Kubernetes; FILES=my.yaml serves your own objects, FILES=NAME a story of test/scenarios (root)
	$(root)
	@go -C test/testbed build -o $(CURDIR)/bin/run ./cmd/run && cd test/testbed && $(CURDIR)/bin/run ./try $(FILES)

.PHONY: demo
demo: ## an annotated HostedCluster, and a worker on an isolated VLAN that joins it (DEMO_STRATEGY=lb-ip|lb-name|nodeport|route; DEMO_INSTALL=kustomize|olm)
	go -C test/testbed run ./cmd/run ./demo up

.PHONY: demo-down
demo-down: ## remove what make demo left running
	go -C test/testbed run ./cmd/run ./demo down

.PHONY: site
site: test-deps ## bin/site, the documentation with a search
	PYTHONDONTWRITEBYTECODE=1 mkdocs build --quiet

.PHONY: bundle
bundle: ## generate bundle/ from config/
	go -C config/bundle run .

.PHONY: opm
opm: ## bin/opm, which makes, checks and serves catalogs, in the version that config/opm pins
	go -C config/release run . opm

# REGISTRY is where images are published: the manifests of the release name them there. Default: the project's.
releaser = go -C config/release run . $(if $(REGISTRY),--registry $(REGISTRY))

.PHONY: images
images: ## the images of the programs for amd64 and arm64, as OCI image layouts in bin/images
	$(releaser) images

.PHONY: release-dry-run
release-dry-run: ## everything that a release would publish, in bin/release, and a table of what would go where; REGISTRY=host/path for your own
	$(releaser) dry-run

.PHONY: release
release: ## make a release and push its images to REGISTRY, where container tools are logged in; to the project's, only from a commit with the tag
	$(releaser) publish

.PHONY: release-check
release-check: ## check whether this commit can be published
	$(releaser) check

.PHONY: release-push
release-push: ## push the images that make release-dry-run left in bin/release
	$(releaser) push

.PHONY: sbom
sbom: build ## the SBOMs of the programs in SPDX 2.3: bin/oooi.spdx.json and so on
	@set -e; for p in oooi oooi-edge oooi-apiproxy; do go -C config/release run . sbom $(CURDIR)/bin/$$p > bin/$$p.spdx.json; done

.PHONY: vulncheck
vulncheck: ## known vulnerabilities in what the programs link; VULNDB=URL uses another database (a copy: file:///path)
	go -C config/release run . symbols # without symbols, every part of a module would count
	@set -e; for p in oooi oooi-edge oooi-apiproxy; do go -C config/release tool govulncheck $(if $(VULNDB),-db $(VULNDB)) -mode binary $(CURDIR)/bin/symbols/$$p; done
