package controllers

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
)

// faultsOfAll concern all clusters.
func faultsOfAll() []fault { return slices.Concat(faultsOfRights(), faultsOfKinds()) }

// faultsOfRights show in the clusters that need a write only.
func faultsOfRights() []fault {
	return []fault{
		{
			name: "The operator may not write Deployments", sees: "Error NotApplied", words: "deployments.apps",
			keeps: "everything, with the previous settings", inject: rightToDeployTaken,
		},
		{
			name: "The operator may not bind roles, and the edges' RoleBinding is deleted", sees: "Error NotApplied", words: "rolebindings",
			keeps: "everything, with the previous plan and from memory", inject: rightToBindTaken,
		},
		{
			name: "The API server of the management cluster has no endpoints", keeps: "everything", inject: apiServerWithoutEndpoints,
		},
	}
}

// faultsOfKinds show in all clusters.
func faultsOfKinds() []fault {
	return []fault{
		{
			name: "The operator may not watch VMs", sees: "Error NotApplied", words: "kind VirtualMachineInstance (",
			keeps: "everything, with the previous plan", inject: machinesForbidden,
		},
		{
			name: "HyperShift serves no version of NodePools that oooi knows", sees: "Error NotApplied", words: "kind NodePool (",
			keeps: "everything, with the previous plan", inject: poolsUnserved,
		},
	}
}

// machinesForbidden takes the right, and makes the API server end the watch.
func machinesForbidden(t *testing.T, h hosted) func() {
	fix := h.withoutRight(t, "kubevirt.io")
	h.define(t, "virtualmachineinstances.kubevirt.io", func(version map[string]any) {
		version["additionalPrinterColumns"] = []any{map[string]any{"name": "Node", "type": "string", "jsonPath": ".status.nodeName"}}
	})
	return fix
}

func poolsUnserved(t *testing.T, h hosted) func() {
	serve := func(known bool) func(map[string]any) {
		return func(version map[string]any) { version["served"] = known || version["name"] != "v1beta1" }
	}
	h.define(t, "nodepools.hypershift.openshift.io", serve(false))
	return func() { h.define(t, "nodepools.hypershift.openshift.io", serve(true)) }
}

// rightTaken removes the rules about a resource from a ClusterRole, and waits until the API server knows that.
func rightTaken(role, group, resource string) func(t *testing.T, h hosted) func() {
	return func(t *testing.T, h hosted) func() {
		change := func(rules func([]rbacv1.PolicyRule) []rbacv1.PolicyRule) {
			cr := &rbacv1.ClusterRole{}
			NewWithT(t).Expect(h.admin.Get(t.Context(), client.ObjectKey{Name: role}, cr)).To(Succeed())
			cr.Rules = rules(cr.Rules)
			NewWithT(t).Expect(h.admin.Update(t.Context(), cr)).To(Succeed())
		}
		var taken []rbacv1.PolicyRule
		change(func(all []rbacv1.PolicyRule) (rest []rbacv1.PolicyRule) {
			for _, r := range all {
				if slices.Contains(r.Resources, resource) {
					taken = append(taken, r)
				} else {
					rest = append(rest, r)
				}
			}
			return rest
		})
		h.awaitRight(t, false, authorizationv1.ResourceAttributes{Namespace: h.ns, Verb: "patch", Group: group, Resource: resource})
		return func() { change(func(all []rbacv1.PolicyRule) []rbacv1.PolicyRule { return append(all, taken...) }) }
	}
}

func rightToDeployTaken(t *testing.T, h hosted) func() {
	fix := rightTaken(own.ControlPlaneRole, "apps", "deployments")(t, h)
	h.touch(t)
	return fix
}

func rightToBindTaken(t *testing.T, h hosted) func() {
	fix := rightTaken(own.ControlPlaneRole, rbacv1.GroupName, "rolebindings")(t, h)
	h.deleted(t, &rbacv1.RoleBinding{}, wire.ServiceAccount)
	return fix
}

func apiServerWithoutEndpoints(t *testing.T, h hosted) func() {
	slice := &discoveryv1.EndpointSlice{}
	NewWithT(t).Expect(h.admin.Get(t.Context(), watch.APIServerSlice, slice)).To(Succeed())
	set := func(endpoints []discoveryv1.Endpoint) {
		slice.Endpoints = endpoints
		NewWithT(t).Expect(h.admin.Update(t.Context(), slice)).To(Succeed())
	}
	was := slice.Endpoints
	set(nil)
	return func() { set(was) }
}
