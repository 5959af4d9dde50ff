package main

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers"
	"github.com/cldmnky/oooi/test/apiserver"
)

// deniesWithin is how long an API server takes to enforce a policy at most.
const deniesWithin = time.Minute

// TestAdmissionCheck: each answer of an API server, and what is done about it.
func TestAdmissionCheck(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	refused := func(why string) error { return apierrors.NewForbidden(pods, "oooi-edge-x-", errors.New(why)) }
	for name, c := range map[string]struct {
		said podAdmission
		want string
		// hidden: it does not decide the exit code.
		hidden bool
	}{
		"taken":        {said: podAdmission{of: "clusters/vlan100"}, want: "ok pods of edges of clusters/vlan100 are admitted"},
		"without plan": {said: podAdmission{}, want: "ok pods of edges are admitted"},
		"with a warning": {said: podAdmission{warnings: []string{`would violate PodSecurity "restricted:latest": x`}},
			want: `warning pods of edges are admitted: The API server takes them in namespace ns, and warns: would violate PodSecurity "restricted:latest": x. See `},
		"Pod Security": {said: podAdmission{err: refused(`violates PodSecurity "restricted:latest": y`)},
			want: `failure pods of edges are admitted: The API server refuses them in namespace ns: pods "oooi-edge-x-" is forbidden: violates PodSecurity "restricted:latest": y. Edges keep to Pod Security level restricted: `},
		"SCC": {said: podAdmission{err: refused(`unable to validate against any security context constraint: [provider "restricted-v2": Forbidden: not usable by user or serviceaccount]`)},
			want: "not usable by user or serviceaccount]. Edges ask for the SCC restricted-v2: allow it for ServiceAccounts of this namespace. See "},
		"a quota":               {said: podAdmission{err: refused("exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3")}, want: "limited: pods=3. Raise that quota or limit. See "},
		"a policy":              {said: podAdmission{err: refused("ValidatingAdmissionPolicy 'p' denied request: no")}, want: "denied request: no. Exempt pods of edges from it, or change it. See "},
		"while an edge runs":    {said: podAdmission{served: true, err: refused("x")}, want: "warning pods of edges are admitted: The API server refuses them "},
		"no right":              {said: podAdmission{err: apierrors.NewForbidden(pods, "", errors.New(`User "u" cannot create resource "pods"`))}, want: "unknown pods of edges are admitted: You have no right to create pods in namespace ns, "},
		"no right, and it runs": {said: podAdmission{served: true, err: apierrors.NewForbidden(pods, "", errors.New(`User "u" cannot create resource "pods"`))}, want: "unknown ", hidden: true},
		"no dry run":            {said: podAdmission{err: apierrors.NewBadRequest("admission webhook w does not support dry run")}, want: "unknown pods of edges are admitted: The API server does not say "},
		"no answer":             {said: podAdmission{err: errors.New("connection refused")}, want: "unknown pods of edges are admitted: The API server does not say whether it takes them in namespace ns: connection refused."},
		"no ServiceAccount":     {said: podAdmission{err: refused("error looking up service account ns/oooi-edge: not found")}, want: "unknown "},
		"no namespace":          {said: podAdmission{err: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns")}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c.said.namespace = "ns"
			line, ok := admissionCheck(c.said)
			g.Expect(ok).To(Equal(c.want != ""))
			g.Expect(string(line.Verdict) + " " + line.String()).To(ContainSubstring(c.want))
			g.Expect(line.aside).To(Equal(c.hidden))
		})
	}
}

// TestAdmissionOfEdges: a real API server takes the pods of edges at Pod Security level restricted, tells what it has against others,
// and stores none.
func TestAdmissionOfEdges(t *testing.T) {
	server := apiserver.Start(t, nil)
	g := NewWithT(t)
	const ns = "clusters-blue"
	g.Expect(server.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
	}}})).To(Succeed())
	ask, err := newAdmitter(server.Env.Config)
	g.Expect(err).NotTo(HaveOccurred())
	images := controllers.Options{Image: "edge:v1", EnvoyImage: "envoy:v1"}
	said := readAdmissions(t.Context(), ask, server.Admin, nil, images, ns)
	g.Expect(said).To(Equal([]podAdmission{{namespace: ns}}), "no warning, and no refusal")

	n := controllers.AnyNetwork()
	wide := func(ns string) *corev1.Pod {
		pod := controllers.EdgePod(n, n.Edges[0], images, ns)
		pod.Spec.SecurityContext, pod.Spec.Containers[0].SecurityContext = nil, nil
		return pod
	}
	_, err = ask(t.Context(), wide(ns))
	g.Expect(refusalOf(err)).To(Equal(refusedByPodSecurity), "%v", err)
	g.Expect(server.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "warned", Labels: map[string]string{"pod-security.kubernetes.io/warn": "restricted"}}})).To(Succeed())
	warnings, err := ask(t.Context(), wide("warned"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(warnings).To(ContainElement(ContainSubstring("would violate PodSecurity")))
	_, err = ask(t.Context(), controllers.EdgePod(n, n.Edges[0], images, "none"))
	g.Expect(refusalOf(err)).To(Equal(refusedNoNamespace), "%v", err)
	askNothing, err := newAdmitter(apiserver.Impersonating(server.Env.Config, "default", "nothing"))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = askNothing(t.Context(), controllers.EdgePod(n, n.Edges[0], images, ns))
	g.Expect(refusalOf(err)).To(Equal(refusedNoRight), "%v", err)

	denyPods(t, server.Admin)
	g.Eventually(func(g Gomega, ctx context.Context) {
		said := readAdmissions(ctx, ask, server.Admin, nil, images, ns)
		g.Expect(said[0].err).To(MatchError(ContainSubstring("none here")))
		g.Expect(refusalOf(said[0].err)).To(Equal(refusedByOther))
	}).WithContext(t.Context()).WithTimeout(deniesWithin).Should(Succeed())
	var stored corev1.PodList
	g.Expect(server.Admin.List(t.Context(), &stored)).To(Succeed())
	g.Expect(stored.Items).To(BeEmpty(), "each request is a dry run")
}

// denyPods makes the API server deny each pod of an edge, soon.
func denyPods(t *testing.T, admin client.Client) {
	t.Helper()
	g := NewWithT(t)
	policy := policyOf("no-pods")
	policy.Spec.MatchConstraints.ResourceRules[0].Rule = admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{"pods"}}
	policy.Spec.Validations = []admissionv1.Validation{{Expression: "false", Message: "none here"}}
	g.Expect(admin.Create(t.Context(), policy)).To(Succeed())
	g.Expect(admin.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "no-pods"},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "no-pods", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}})).To(Succeed())
}
