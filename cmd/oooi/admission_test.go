package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/config/rbac"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/blue"
	"github.com/cldmnky/oooi/test/loopback"
)

// admissionAppliesThePolicies, as its pod does: on an API server that has neither its namespace nor a policy or role of oooi.
func admissionAppliesThePolicies(t *testing.T, server *apiserver.Server) {
	const namespace = "oooi-policies"
	g, api := NewWithT(t), server.Admin
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, server.Env.KubeConfig, 0o600)).To(Succeed())
	t.Setenv("KUBECONFIG", file)
	t.Setenv(command.EnvNamespace, namespace)

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	c := command.New(subcommands()...)
	at := loopback.Reserve(t).String()
	c.SetArgs([]string{"admission", "--health-probe-bind-address", at})
	go func() { ended <- c.ExecuteContext(ctx) }()
	g.Eventually(readyz(at)).WithTimeout(time.Minute).Should(Equal(http.StatusInternalServerError), "its namespace does not exist")
	g.Expect(api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	for _, name := range []string{admission.Operator, admission.EdgeLeases, admission.Annotations, admission.AnnotationKeys} {
		for _, o := range []client.Object{&admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}} {
			exists := func() error { return api.Get(t.Context(), client.ObjectKey{Name: name}, o) }
			g.Eventually(exists).WithTimeout(time.Minute).Should(Succeed(), name)
		}
	}
	g.Expect(readyz(at)()).To(Equal(http.StatusInternalServerError), "the role of the operator does not exist")
	role, err := rbac.ControlPlane()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(api.Create(t.Context(), role)).To(Succeed())
	t.Cleanup(func() {
		blue.RemovePolicies(t, api)
		g.Expect(api.Delete(context.WithoutCancel(t.Context()), role)).To(Succeed())
	})
	g.Eventually(readyz(at)).WithTimeout(time.Minute).Should(Equal(http.StatusOK))
	stop()
	g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(BeNil()), "it ends with its context")
}
