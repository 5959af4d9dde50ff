package main

import (
	"testing"

	"github.com/cldmnky/oooi/test/apiserver"
)

// TestFromNothing: on an API server that has only Kubernetes' own kinds. Starting one takes seconds of CPU time, so the tests share it.
// The last one installs kinds.
func TestFromNothing(t *testing.T) {
	server := apiserver.Start(t, nil)
	t.Run("the manager is ready without HyperShift", func(t *testing.T) { managerIsReadyWithoutHyperShift(t, server) })
	t.Run("admission applies the policies", func(t *testing.T) { admissionAppliesThePolicies(t, server) })
	t.Run("the console of OpenShift has a quick start", func(t *testing.T) { consoleHasAQuickStart(t, server) })
	t.Run("KubeVirt has other names", func(t *testing.T) { renamedKubeVirt(t, server) })
}
