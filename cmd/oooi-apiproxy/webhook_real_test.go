package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/cldmnky/oooi/test/apiserver"
)

// webhook: the API server calls a webhook of controller-runtime, which knows KubeVirt's own names only. It sets a default, and
// refuses an object.
func (w world) webhook(t *testing.T) {
	g := NewWithT(t)
	cert, key, _ := certificate(t, t.TempDir(), "webhook")
	pair, err := tls.LoadX509KeyPair(cert, key)
	g.Expect(err).NotTo(HaveOccurred())
	decoder := admission.NewDecoder(apiserver.Scheme(t))
	hook := httptest.NewUnstartedServer(&admission.Webhook{Handler: admission.HandlerFunc(func(_ context.Context, r admission.Request) admission.Response {
		var one kubevirtv1.VirtualMachine
		if err := decoder.Decode(r, &one); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		if r.Kind.Group != "kubevirt.io" || r.Resource.Resource != "virtualmachines" || one.Kind != "VirtualMachine" || one.Labels["kubevirt.io/os"] == "refused" {
			return admission.Denied("not a VM that may run: " + r.Kind.String())
		}
		one.Labels["kubevirt.io/size"] = "small"
		text, err := json.Marshal(one)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		return admission.PatchResponseFromRaw(r.Object.Raw, text)
	})})
	hook.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	hook.StartTLS()
	t.Cleanup(hook.Close)
	r, _ := sidecar(t, "--server", "http://127.0.0.1:1", "--insecure", "--webhook-listen", "localhost:0", "--webhook-tls-cert", cert, "--webhook-tls-key", key, "--webhook-target", hook.URL)
	port := regexp.MustCompile(`"msg":"webhook proxy started","address":"[^"]+:(\d+)"`).FindStringSubmatch(r.out.String())[1]
	ca, err := os.ReadFile(cert)
	g.Expect(err).NotTo(HaveOccurred())

	c, err := client.New(configOf(t, w.proxied), client.Options{Scheme: apiserver.Scheme(t)})
	g.Expect(err).NotTo(HaveOccurred())
	url, none, fail := "https://localhost:"+port+"/internal-validate-vm", admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	config := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "vms"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "vms.kubevirt.io", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca},
			ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "kubevirt.io/os", Operator: metav1.LabelSelectorOpExists}}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"kubevirt.io"}, APIVersions: []string{"v1"}, Resources: []string{"virtualmachines"}},
			}},
			SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
		}},
	}
	g.Expect(c.Create(t.Context(), config)).To(Succeed())
	t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(t.Context()), config) })

	refused := vm("refused")
	refused.Labels["kubevirt.io/os"] = "refused"
	g.Eventually(func() error { return c.Create(t.Context(), refused.DeepCopy(), client.DryRunAll) }, time.Minute).Should(
		MatchError(ContainSubstring("not a VM that may run: kubevirt.io/v1, Kind=VirtualMachine")), "the API server knows the webhook a moment later")
	one := vm("defaulted")
	g.Expect(c.Create(t.Context(), one)).To(Succeed())
	g.Expect(one.Labels).To(Equal(map[string]string{"kubevirt.io/os": "linux", "kubevirt.io/size": "small"}))
	got := w.stored(t, vms("internal.virt.example", "internalvirtualmachines"), "defaulted")
	g.Expect(got.GetLabels()).To(Equal(map[string]string{"internal.virt.example/os": "linux", "internal.virt.example/size": "small"}))
}
