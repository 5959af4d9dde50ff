// This file runs the tests that need a real API server. Starting one takes seconds of CPU time, so they share two. KubeVirt has other
// names on the one of TestRenamedKubeVirt.

package main

import (
	"context"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/apiserver"
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
		{"must-gather", mustGather},
		{"status", statusReads},
	})
}

// runOn runs tests one after another. None finds a hosted cluster of another.
func runOn(t *testing.T, server *apiserver.Server, tests []serverTest) {
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			t.Cleanup(func() { removeObjects(t, server, blue.Namespace, "clusters-blue") })
			x.run(t, server)
		})
	}
}

// removeObjects deletes all that is in namespaces. The namespaces stay, as no controller ends their deletion.
func removeObjects(t *testing.T, server *apiserver.Server, namespaces ...string) {
	g, ctx := NewWithT(t), context.WithoutCancel(t.Context())
	kinds, err := discovery.NewDiscoveryClientForConfig(server.Env.Config)
	g.Expect(err).NotTo(HaveOccurred())
	objects, err := dynamic.NewForConfig(server.Env.Config)
	g.Expect(err).NotTo(HaveOccurred())
	lists, err := kinds.ServerPreferredNamespacedResources()
	g.Expect(err).NotTo(HaveOccurred())
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		g.Expect(err).NotTo(HaveOccurred())
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "deletecollection") {
				continue
			}
			for _, ns := range namespaces {
				all := objects.Resource(version.WithResource(r.Name)).Namespace(ns)
				g.Expect(all.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{})).To(Succeed(), r.Name)
			}
		}
	}
}

// removePolicies deletes the admission policies of oooi and of tests, with their bindings.
func removePolicies(t *testing.T, admin client.Client) {
	g, ctx := NewWithT(t), context.WithoutCancel(t.Context())
	for _, o := range []client.Object{&admissionv1.ValidatingAdmissionPolicyBinding{}, &admissionv1.ValidatingAdmissionPolicy{}} {
		g.Expect(admin.DeleteAllOf(ctx, o, client.MatchingLabels{wire.LabelName: wire.Owner})).To(Succeed())
	}
}
