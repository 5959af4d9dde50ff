package check

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/blue"
)

// TestAdmissionCheck: each answer of an API server, and what is done about it.
func TestAdmissionCheck(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	refused := func(why string) error { return apierrors.NewForbidden(pods, "oooi-edge-x-", errors.New(why)) }
	// denied is as the API server passes on the answer of a webhook, which has no details.
	denied := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: `admission webhook "images.example.com" denied the request: image edge:v1 is not signed`}}
	full := refused("exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3")
	for name, c := range map[string]struct {
		said podAdmission
		want string
		// hidden: it does not decide the exit code.
		hidden bool
	}{
		"taken":        {said: podAdmission{of: "clusters/vlan100"}, want: "ok pods of edges of clusters/vlan100 are admitted"},
		"without plan": {said: podAdmission{}, want: "ok pods of edges are admitted"},
		"with a warning": {said: podAdmission{warnings: []string{`would violate PodSecurity "restricted:latest": x`}},
			want: `warning pods of edges are admitted: The API server accepts edge pods in namespace ns, and warns: would violate PodSecurity "restricted:latest": x. Find `},
		"Pod Security": {said: podAdmission{err: refused(`violates PodSecurity "restricted:latest": y`)},
			want: `failure pods of edges are admitted: The API server refuses edge pods in namespace ns: pods "oooi-edge-x-" is forbidden: violates PodSecurity "restricted:latest": y. If a policy refuses them, exempt edges from it. `},
		"SCC": {said: podAdmission{err: refused(`unable to validate against any security context constraint: [provider "restricted-v2": Forbidden: not usable by user or serviceaccount]`)},
			want: "not usable by user or serviceaccount]. "},
		"a webhook": {said: podAdmission{err: denied},
			want: `failure pods of edges are admitted: The API server refuses edge pods in namespace ns: admission webhook "images.example.com" denied the request: image edge:v1 is not signed. If a policy refuses them, exempt edges from it. `},
		"a webhook, and images are not known": {said: podAdmission{imagesUnknown: true, err: denied},
			want: `unknown pods of edges are admitted: The API server refuses edge pods in namespace ns: admission webhook "images.example.com" denied the request: image edge:v1 is not signed. The images of edges are unknown, so the dry run used other images, which may be the cause. `},
		"Pod Security, and images are not known": {said: podAdmission{imagesUnknown: true, err: refused(`violates PodSecurity "restricted:latest": y`)}, want: "failure "},
		"a webhook that is down, and images are not known": {said: podAdmission{imagesUnknown: true, err: apierrors.NewInternalError(errors.New(`failed calling webhook "w": no endpoints`))},
			want: "failure "},
		"a quota":               {said: podAdmission{err: full}, want: "limited: pods=3. If a policy "},
		"a quota, with an edge": {said: podAdmission{served: true, err: full}, want: "warning pods of edges are admitted: The API server refuses edge pods "},
		"a quota of all edges":  {said: podAdmission{served: true, allReady: true, err: full}, want: "ok pods of edges are admitted"},
		"a limit of any pod": {said: podAdmission{served: true, allReady: true, err: refused("maximum memory usage per Pod is 1Gi, but limit is 2Gi")},
			want: "warning pods of edges are admitted: The API server refuses edge pods in namespace ns: "},
		"a policy":              {said: podAdmission{err: refused("ValidatingAdmissionPolicy 'p' denied request: no")}, want: "denied request: no. If a policy refuses them, exempt edges from it. "},
		"while an edge runs":    {said: podAdmission{served: true, err: refused("x")}, want: "warning pods of edges are admitted: The API server refuses edge pods "},
		"no right":              {said: podAdmission{err: apierrors.NewForbidden(pods, "", errors.New(`User "u" cannot create resource "pods"`))}, want: "unknown pods of edges are admitted: It is unknown whether the API server accepts edge pods in namespace ns: pods is forbidden: User "},
		"no right, and it runs": {said: podAdmission{served: true, err: apierrors.NewForbidden(pods, "", errors.New(`User "u" cannot create resource "pods"`))}, want: "unknown ", hidden: true},
		"no dry run":            {said: podAdmission{err: apierrors.NewBadRequest("admission webhook w does not support dry run")}, want: "unknown pods of edges are admitted: It is unknown "},
		"no answer":             {said: podAdmission{err: errors.New("connection refused")}, want: "unknown pods of edges are admitted: It is unknown whether the API server accepts edge pods in namespace ns: connection refused."},
		"no ServiceAccount":     {said: podAdmission{err: refused("error looking up service account ns/oooi-edge: not found")}, want: "unknown "},
		"no namespace":          {said: podAdmission{err: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns")}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c.said.namespace = "ns"
			line, ok := admissionCheck(c.said)
			g.Expect(ok).To(Equal(c.want != ""))
			g.Expect(string(line.Verdict) + " " + line.String()).To(ContainSubstring(c.want))
			g.Expect(line.Why == "").To(Equal(line.Verdict == fine || !ok), "ok has nothing to do")
			g.Expect(line.aside).To(Equal(c.hidden))
		})
	}
}

// A nadReader has the NetworkAttachmentDefinitions of these names, and a list of pods.
type nadReader struct {
	client.Reader
	nads []string
	pods []corev1.Pod
}

func (r nadReader) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if slices.Contains(r.nads, key.Name) {
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (r nadReader) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*corev1.PodList).Items = r.pods
	return nil
}

// TestAdmissionBeforeNADs: webhooks that look for the NADs of a pod do not find those that the operator creates later.
func TestAdmissionBeforeNADs(t *testing.T) {
	n := triedNetwork()
	ovn := n
	ovn.Attachment.EdgeNADConfig = ""
	for name, c := range map[string]struct {
		networks []network.Network
		nads     []string
		joins    bool
	}{
		"no plan":                   {},
		"a plan":                    {networks: []network.Network{n}},
		"a plan in force":           {[]network.Network{n}, []string{wire.EdgeNADName(n)}, true},
		"edges join the NAD of VMs": {[]network.Network{ovn}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			asked := 0
			ask := func(_ context.Context, pod *corev1.Pod) ([]string, error) {
				asked++
				if c.joins {
					g.Expect(pod.Annotations).To(HaveKey(wire.AnnotationNetworks))
				} else {
					g.Expect(pod.Annotations).NotTo(HaveKey(wire.AnnotationNetworks))
				}
				return nil, nil
			}
			g.Expect(readAdmissions(t.Context(), ask, nadReader{nads: c.nads}, c.networks, desired.Release{}, "clusters-blue")).To(HaveLen(1))
			g.Expect(asked).To(Equal(1))
		})
	}
}

// TestEdgesThatFreeQuota: an edge that the plan has and that does not run needs quota, too.
func TestEdgesThatFreeQuota(t *testing.T) {
	n := triedNetwork()
	n.Edges = append(n.Edges, network.Edge{Number: 2})
	edge := func(number int, ready explain.Answer) status.Edge { return status.Edge{Number: number, Ready: ready} }
	for name, c := range map[string]struct {
		edges            []status.Edge
		served, allReady bool
	}{
		"none runs":         {nil, false, false},
		"one is ready":      {[]status.Edge{edge(1, explain.Yes), edge(2, explain.No)}, true, false},
		"one edge is newer": {[]status.Edge{edge(1, explain.Yes)}, true, false},
		"all are ready":     {[]status.Edge{edge(1, explain.Yes), edge(2, explain.Yes)}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := clusterFacts{read: true, optedIn: true, planned: &plan.Planned{Plan: &network.Plan{Networks: []network.Network{n}}}}
			f.status.Networks = []status.Network{{Name: n.Attachment.String(), Edges: c.edges}}
			taken := func(context.Context, *corev1.Pod) ([]string, error) { return nil, nil }
			got := preflightReader{api: nadReader{}, ask: taken, imagesUnknown: true}.read(t.Context(), f, status.Facts{})
			NewWithT(t).Expect(got.admissions).To(Equal([]podAdmission{{of: n.Attachment.String(), served: c.served, allReady: c.allReady, imagesUnknown: true}}))
		})
	}
}

// admissionOfEdges: a real API server takes the pods of edges at Pod Security level restricted, says what it has against others,
// and stores none.
func admissionOfEdges(t *testing.T, server *apiserver.Server) {
	g := NewWithT(t)
	const ns = "restricted"
	g.Expect(server.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
	}}})).To(Succeed())
	ask, err := newAdmitter(server.Env.Config)
	g.Expect(err).NotTo(HaveOccurred())
	images := desired.Release{Image: "edge:v1", EnvoyImage: "envoy:v1"}
	said := readAdmissions(t.Context(), ask, server.Admin, nil, images, ns)
	g.Expect(said).To(Equal([]podAdmission{{namespace: ns}}), "no warning, and no refusal")

	n := desired.AnyNetwork()
	wide := func(ns string) *corev1.Pod {
		pod := desired.EdgePod(n, n.Edges[0], images, ns)
		pod.Spec.SecurityContext, pod.Spec.Containers[0].SecurityContext = nil, nil
		return pod
	}
	_, err = ask(t.Context(), wide(ns))
	g.Expect(podAdmission{err: err, imagesUnknown: true}.refusal()).To(Equal(problem.EdgePodDenied), "%v", err)
	g.Expect(server.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "warned", Labels: map[string]string{"pod-security.kubernetes.io/warn": "restricted"}}})).To(Succeed())
	warnings, err := ask(t.Context(), wide("warned"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(warnings).To(ContainElement(ContainSubstring("would violate PodSecurity")))
	_, err = ask(t.Context(), desired.EdgePod(n, n.Edges[0], images, "none"))
	g.Expect(lacksNamespace(err)).To(BeTrue(), "%v", err)
	askNothing, err := newAdmitter(apiserver.Impersonating(server.Env.Config, "default", "nothing"))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = askNothing(t.Context(), desired.EdgePod(n, n.Edges[0], images, ns))
	g.Expect(lacksRight(err)).To(BeTrue(), "%v", err)

	down := deadWebhook(ns)
	g.Expect(server.Admin.Create(t.Context(), down)).To(Succeed())
	g.Eventually(func(g Gomega, ctx context.Context) {
		said := readAdmissions(ctx, ask, server.Admin, nil, images, ns)
		g.Expect(podAdmission{err: said[0].err, imagesUnknown: true}.refusal()).To(Equal(problem.EdgePodDenied), "%v", said[0].err)
	}).WithContext(t.Context()).WithTimeout(time.Minute).Should(Succeed())
	g.Expect(server.Admin.Delete(t.Context(), down)).To(Succeed())

	t.Cleanup(func() { blue.RemovePolicies(t, server.Admin) })
	denyPods(t, server.Admin, ns)
	g.Eventually(func(g Gomega, ctx context.Context) {
		said := readAdmissions(ctx, ask, server.Admin, nil, images, ns)
		g.Expect(said[0].err).To(MatchError(ContainSubstring("none here")))
		g.Expect(said[0].refusal()).To(Equal(problem.EdgePodDenied))
	}).WithContext(t.Context()).WithTimeout(time.Minute).Should(Succeed())
	var stored corev1.PodList
	g.Expect(server.Admin.List(t.Context(), &stored)).To(Succeed())
	g.Expect(stored.Items).To(BeEmpty(), "each request is a dry run")
}

// deadWebhook has no server, and must be asked about Deployments in namespace ns.
func deadWebhook(ns string) *admissionv1.ValidatingWebhookConfiguration {
	none := admissionv1.SideEffectClassNone
	return &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "down"}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "down.example.com", SideEffects: &none, NamespaceSelector: inNamespace(ns), AdmissionReviewVersions: []string{"v1"},
		ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "default", Name: "down"}},
		Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create}, Rule: admissionv1.Rule{
			APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}}}},
	}}}
}

// inNamespace selects one namespace.
func inNamespace(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}
}

// denyPods makes the API server deny each pod of an edge in namespace ns, soon.
func denyPods(t *testing.T, admin client.Client, ns string) {
	t.Helper()
	g := NewWithT(t)
	policy := policyOf("no-pods")
	policy.Spec.MatchConstraints.ResourceRules[0].Rule = admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{"pods"}}
	policy.Spec.MatchConstraints.NamespaceSelector = inNamespace(ns)
	policy.Spec.Validations = []admissionv1.Validation{{Expression: "false", Message: "none here"}}
	g.Expect(admin.Create(t.Context(), policy)).To(Succeed())
	g.Expect(admin.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "no-pods", Labels: policy.Labels},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "no-pods", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}})).To(Succeed())
}
