package check

import (
	"testing"

	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/blue"
	_ "github.com/cldmnky/oooi/test/patience"
)

// TestOnAPIServer runs the tests that need a real API server. Starting one takes seconds of CPU time, so they share it. The first one begins
// with nothing but Kubernetes' own kinds, and installs the others.
func TestOnAPIServer(t *testing.T) {
	server := apiserver.Start(t, nil)
	for _, x := range []struct {
		name string
		run  func(*testing.T, *apiserver.Server)
	}{
		{"check", checkFromNothing},
		{"pods of edges are admitted", admissionOfEdges},
		{"check --failover", checkFailover},
		{"check --from-network", checkFromNetwork},
	} {
		t.Run(x.name, func(t *testing.T) {
			blue.Clean(t, server)
			x.run(t, server)
		})
	}
}
