// This file decides which of two hosted clusters keeps a control plane namespace if both have the same one:
// clusters-a-b is that of clusters/a-b and of clusters-a/b.

package hcp

import (
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network/problem"
)

// KeepsControlPlane reports whether a keeps the control plane namespace that a and b have in common: the served cluster
// keeps it, else the older one.
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
