package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/test/programs"
)

// TestAdmissionAppliesThePolicies, as its pod does: on an API server that has nothing of oooi.
func TestAdmissionAppliesThePolicies(t *testing.T) {
	g := NewWithT(t)
	env := &envtest.Environment{BinaryAssetsDirectory: programs.RequireAPIServer(t)}
	config, err := env.Start()
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(env.Stop()).To(Succeed()) }()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, env.KubeConfig, 0o600)).To(Succeed())
	t.Setenv("KUBECONFIG", file)
	api, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	g.Expect(err).NotTo(HaveOccurred())

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	c := newRootCommand()
	c.SetArgs([]string{"admission"})
	go func() { ended <- c.ExecuteContext(ctx) }()
	for _, name := range []string{admission.Operator, admission.EdgeLeases} {
		for _, o := range []client.Object{&admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}} {
			g.Eventually(func() error { return api.Get(t.Context(), client.ObjectKey{Name: name}, o) }).WithTimeout(30 * time.Second).Should(Succeed())
		}
	}
	stop()
	g.Eventually(ended).WithTimeout(30*time.Second).Should(Receive(BeNil()), "it ends when it is told to")
}
