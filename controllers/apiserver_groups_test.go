// This file gives tests that run one after another one API server. Each has hosted clusters with names of its own.
// The servers run side by side.

package controllers

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/config/admission"
)

// An apiServerTest is a test on a server that has been used.
type apiServerTest struct {
	name string
	test func(*testing.T, *apiServer)
}

// TestIntactAPIServer has tests that change only objects of hosted clusters.
func TestIntactAPIServer(t *testing.T) {
	oneAfterAnother(t,
		apiServerTest{"Reconcile", testReconcile},
		apiServerTest{"LoadBalancersAfterRestart", testLoadBalancersAfterRestart},
		apiServerTest{"LaggingCache", testLaggingCache},
		apiServerTest{"RestoredAPIServer", testRestoredAPIServer},
		apiServerTest{"AnyAnnotationsAreAccepted", testAnyAnnotationsAreAccepted},
		apiServerTest{"RemovalIsAnnouncedAgain", testRemovalIsAnnouncedAgain},
		apiServerTest{"Waves", testWaves},
	)
}

// TestAlteredAPIServer has all tests that change kinds, rights and policies, and leave them so that an operator can
// serve. One more is here so that both servers take as long. After the last one, nothing of oooi is left.
func TestAlteredAPIServer(t *testing.T) {
	oneAfterAnother(t,
		apiServerTest{"Faults", testFaults},
		apiServerTest{"Skew", testSkew},
		apiServerTest{"HangingWrites", testHangingWrites},
		apiServerTest{"UninstallLeavesEdges", testUninstallLeavesEdges},
	)
}

// oneAfterAnother runs tests on a server with all kinds. After each but the last, its hosted clusters are removed.
func oneAfterAnother(t *testing.T, tests ...apiServerTest) {
	t.Parallel()
	server := newAPIServer(t)
	server.InstallKinds(t)
	for i, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			s := apiServerOf(server.Server)
			if i < len(tests)-1 {
				t.Cleanup(func() { s.removeHosted(t) })
			}
			x.test(t, s)
		})
	}
}

// removeHosted removes all HostedClusters, so that the next operator serves none, and denies invalid annotations again.
func (s *apiServer) removeHosted(t *testing.T) {
	g, ctx := NewWithT(t), context.Background()
	all := &hyperv1.HostedClusterList{}
	g.Expect(s.admin.List(ctx, all)).To(Succeed())
	for i := range all.Items {
		hc := &all.Items[i]
		before := hc.DeepCopy()
		hc.Finalizers = nil
		g.Expect(s.admin.Patch(ctx, hc, client.MergeFrom(before))).To(Succeed())
		g.Expect(client.IgnoreNotFound(s.admin.Delete(ctx, hc))).To(Succeed())
	}
	policies, err := admission.Policies()
	g.Expect(err).NotTo(HaveOccurred())
	for _, p := range policies {
		if p.Binding.Name == admission.Annotations {
			g.Expect(client.IgnoreAlreadyExists(s.admin.Create(ctx, p.Binding.DeepCopy()))).To(Succeed())
		}
	}
	g.Eventually(s.invalidAnnotation).Should(MatchError(ContainSubstring("ValidatingAdmissionPolicy '" + admission.Annotations + "'")))
}
