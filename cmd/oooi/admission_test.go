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
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/config/rbac"
	"github.com/cldmnky/oooi/test/apiserver"
)

// TestAdmissionAppliesThePolicies, as its pod does: on an API server that has nothing of oooi.
func TestAdmissionAppliesThePolicies(t *testing.T) {
	g := NewWithT(t)
	env, _ := apiserver.Run(t, nil)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, env.KubeConfig, 0o600)).To(Succeed())
	t.Setenv("KUBECONFIG", file)
	t.Setenv(envNamespace, "oooi-system")
	api, err := client.New(env.Config, client.Options{Scheme: scheme.Scheme})
	g.Expect(err).NotTo(HaveOccurred())

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	c := newRootCommand()
	at := freeAddress(t)
	c.SetArgs([]string{"admission", "--health-probe-bind-address", at})
	go func() { ended <- c.ExecuteContext(ctx) }()
	g.Eventually(readyz(at)).WithTimeout(30*time.Second).Should(Equal(http.StatusInternalServerError), "its namespace does not exist")
	g.Expect(api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "oooi-system"}})).To(Succeed())
	for _, name := range []string{admission.Operator, admission.EdgeLeases, admission.Annotations, admission.AnnotationKeys} {
		for _, o := range []client.Object{&admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}} {
			exists := func() error { return api.Get(t.Context(), client.ObjectKey{Name: name}, o) }
			g.Eventually(exists).WithTimeout(30*time.Second).Should(Succeed(), name)
		}
	}
	g.Expect(readyz(at)()).To(Equal(http.StatusInternalServerError), "the role of the operator does not exist")
	role, err := rbac.ControlPlane()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(api.Create(t.Context(), role)).To(Succeed())
	g.Eventually(readyz(at)).WithTimeout(30 * time.Second).Should(Equal(http.StatusOK))
	stop()
	g.Eventually(ended).WithTimeout(30*time.Second).Should(Receive(BeNil()), "it ends when it is told to")
}
