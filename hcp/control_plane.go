// This file decides which of two hosted clusters keeps a control plane namespace if both have the same one. For
// example, clusters-a-b belongs to clusters/a-b and to clusters-a/b.

package hcp

import (
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network/problem"
)

// KeepsControlPlane reports whether hosted cluster a keeps the control plane namespace that it shares with hosted
// cluster b. If oooi serves only one of them, that one keeps it. Otherwise cluster a keeps it if it is opted in and
// older than b.
func KeepsControlPlane(a *hyperv1.HostedCluster, aServed bool, b *hyperv1.HostedCluster, bServed bool) bool {
	switch {
	case aServed != bServed:
		return aServed
	case !OptedIn(a):
		return false
	}
	return objects.Older(a, b)
}

// ControlPlaneShared returns the problem that rival keeps the control plane namespace of hc.
func ControlPlaneShared(hc *hyperv1.HostedCluster, rival string) problem.Problem {
	return problem.New(problem.ControlPlaneNamespaceShared, problem.Subject{},
		problem.Args{"namespace": {objects.ControlPlaneNamespace(hc)}, "hostedCluster": {rival}})
}
