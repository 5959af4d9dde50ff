// This file runs the tests that need a real API server. Starting one takes seconds of CPU time, so they share two. KubeVirt has other
// names on the one of TestRenamedKubeVirt.

package main

import (
	"testing"

	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/blue"
)

// A serverTest needs a real API server.
type serverTest struct {
	name string
	run  func(*testing.T, *apiserver.Server)
}

// TestFromNothing: on an API server that has nothing but Kubernetes' own. The second test installs the kinds.
func TestFromNothing(t *testing.T) {
	runOn(t, apiserver.Start(t, nil), []serverTest{
		{"the manager is ready without HyperShift", managerIsReadyWithoutHyperShift},
		{"check", checkFromNothing},
		{"admission applies the policies", admissionAppliesThePolicies},
	})
}

// TestOnAPIServer: with all kinds. Each test creates the hosted cluster clusters/blue if it needs one.
func TestOnAPIServer(t *testing.T) {
	server := apiserver.Start(t, nil)
	server.InstallKinds(t)
	runOn(t, server, []serverTest{
		{"pods of edges are admitted", admissionOfEdges},
		{"check --failover", checkFailover},
		{"check --from-network", checkFromNetwork},
	})
}

// runOn runs tests one after another. None finds a hosted cluster of another.
func runOn(t *testing.T, server *apiserver.Server, tests []serverTest) {
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			blue.Clean(t, server)
			x.run(t, server)
		})
	}
}
