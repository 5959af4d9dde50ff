// This file gives tests that run one after another one API server. Each has hosted clusters with names of its own.

package controllers

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/test/apiserver"
)

var (
	// intact is the server of tests that change only objects of hosted clusters.
	intact apiserver.Shared
	// altered is the server of tests that change kinds, rights and policies, and leave them so that an operator can serve.
	altered apiserver.Shared
)

// sharedAPIServer has all kinds. At the end of the test, its hosted clusters are removed.
func sharedAPIServer(t *testing.T, server *apiserver.Shared) *apiServer {
	t.Helper()
	started, first := server.Start(t)
	s := apiServerOf(started)
	if first {
		s.install(t)
		s.InstallKinds(t)
	}
	t.Cleanup(func() { s.removeHosted(t) })
	return s
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
}
