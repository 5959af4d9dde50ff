# Targets of the testbed, a real cluster on this machine (root).
# TESTBED names the cluster: several run side by side. NODES is how many nodes it has.
TESTBED ?= tb
NODES ?= 1
testbed = go -C test/testbed run ./cmd/run ./cmd/testbed --name $(TESTBED)

.PHONY: testbed-build testbed-up testbed-down testbed-status

testbed-build: ## build everything the testbed runs, once per machine
	$(testbed) build

testbed-up: ## bring the cluster up; builds what is missing
	$(testbed) up --nodes $(NODES)

testbed-down: ## remove the cluster and all it left on this machine
	$(testbed) down

testbed-status: ## say what runs
	$(testbed) status
