package controllers

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/test/apiserver"
)

// An apiServer is a real one, with what config/default installs.
type apiServer struct {
	*apiserver.Server
	admin client.Client
	// operator is the operator's ServiceAccount, with the rights of config/.
	operator *rest.Config
	// requests are those of that account.
	requests *sentRequests
	// log is the log of operators that run starts later. Zero: they log to the standard error.
	log logr.Logger
}

// newAPIServer starts one that no other test uses.
func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := apiServerOf(apiserver.Start(t, nil))
	s.install(t)
	return s
}

// apiServerOf counts requests from now on.
func apiServerOf(started *apiserver.Server) *apiServer {
	account := testOptions.ServiceAccount
	s := &apiServer{Server: started, admin: started.Admin, requests: &sentRequests{},
		operator: apiserver.Impersonating(started.Env.Config, account.Namespace, account.Name)}
	s.operator.Wrap(s.requests.wrap)
	return s
}

// install installs config/default, and the Endpoints of the API server.
func (s *apiServer) install(t *testing.T) {
	t.Helper()
	s.Install(t)
	s.awaitPolicies(t)
	port := int32(6443)
	NewWithT(t).Expect(s.admin.Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: watch.APIServerSlice.Namespace, Name: watch.APIServerSlice.Name},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.11"}}},
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	})).To(Succeed())
}

// awaitPolicies waits until the API server enforces the policies of config/admission.
func (s *apiServer) awaitPolicies(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	edge := s.as(t, "oooi-system", wire.ServiceAccount)
	s.bindEdges(t, "oooi-system")
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "oooi-system", Name: "foreign"}}
	for who, c := range map[string]client.Client{admission.Operator: s.asOperator(t), admission.EdgeLeases: edge} {
		g.Eventually(func() error { return c.Create(t.Context(), lease.DeepCopy(), client.DryRunAll) }).
			Should(MatchError(ContainSubstring("ValidatingAdmissionPolicy '" + who + "'")))
	}
	for _, o := range []client.Object{&rbacv1.RoleBinding{}, &rbacv1.Role{}} {
		o.SetNamespace("oooi-system")
		o.SetName(wire.ServiceAccount)
		g.Expect(s.admin.Delete(t.Context(), o)).To(Succeed())
	}
}

// bindEdges gives the ServiceAccount of edges in ns the rights that the operator gives it.
func (s *apiServer) bindEdges(t *testing.T, ns string) {
	t.Helper()
	for _, o := range []runtime.ApplyConfiguration{desired.EdgeRole(ns), desired.EdgeBinding(ns)} {
		NewWithT(t).Expect(s.admin.Apply(t.Context(), o, client.FieldOwner("test"))).To(Succeed())
	}
}

// acceptInvalidAnnotations removes the policy that denies them. Objects from before the policy have such annotations,
// and the operator still reports them. It needs the kinds.
func (s *apiServer) acceptInvalidAnnotations(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: admission.Annotations}}
	g.Expect(client.IgnoreNotFound(s.admin.Delete(t.Context(), binding))).To(Succeed())
	g.Eventually(s.invalidAnnotation).Should(Succeed())
}

// invalidAnnotation is a dry run of an object with an invalid annotation.
func (s *apiServer) invalidAnnotation() error {
	nad := &nadv1.NetworkAttachmentDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x", Annotations: map[string]string{wire.Prefix + "cidr": "x"}}}
	return s.admin.Create(context.Background(), nad, client.DryRunAll)
}

// as is a client with the rights of one ServiceAccount, that knows all kinds.
func (s *apiServer) as(t *testing.T, ns, name string) client.Client {
	t.Helper()
	c, err := client.New(apiserver.Impersonating(s.operator, ns, name), client.Options{Scheme: s.admin.Scheme()})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

// asPod is a client with the token of a pod, which has this ServiceAccount.
func (s *apiServer) asPod(t *testing.T, ns, account, name string) client.Client {
	t.Helper()
	g := NewWithT(t)
	a := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: account}}
	g.Expect(client.IgnoreAlreadyExists(s.admin.Create(t.Context(), a))).To(Succeed())
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: corev1.PodSpec{ServiceAccountName: account, Containers: []corev1.Container{{Name: "x", Image: "x"}}}}
	g.Expect(s.admin.Create(t.Context(), pod)).To(Succeed())
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: pod.UID}}}
	g.Expect(s.admin.SubResource("token").Create(t.Context(), a, token)).To(Succeed())
	own := rest.AnonymousClientConfig(s.Env.Config)
	own.BearerToken = token.Status.Token
	c, err := client.New(own, client.Options{Scheme: s.admin.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

// asOperator is a client with the operator's rights.
func (s *apiServer) asOperator(t *testing.T) client.Client {
	t.Helper()
	return s.as(t, testOptions.ServiceAccount.Namespace, testOptions.ServiceAccount.Name)
}

// writerIn is the operator where it may write for w, in a namespace that Pod Security restricts.
func (s *apiServer) writerIn(t *testing.T, w gather.World) client.Client {
	t.Helper()
	g := NewWithT(t)
	ns := apiserver.ControlPlaneNamespace(hcp.ControlPlaneNamespace(w.HostedCluster))
	ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	g.Expect(client.IgnoreAlreadyExists(s.admin.Create(t.Context(), ns))).To(Succeed())
	c := s.asOperator(t)
	binding := client.ApplyConfigurationFromUnstructured(own.Binding(w.ControlPlane, testOptions.ServiceAccount))
	g.Expect(c.Apply(t.Context(), binding, client.FieldOwner(wire.Owner), client.ForceOwnership)).To(Succeed())
	s.awaitRights(t, ns.Name)
	return c
}

// awaitRights waits until the API server knows that the operator may write in ns.
func (s *apiServer) awaitRights(t *testing.T, ns string) {
	t.Helper()
	s.awaitRight(t, true, authorizationv1.ResourceAttributes{Namespace: ns, Verb: "patch", Group: "apps", Resource: "deployments"})
}

// awaitRight waits until the API server knows whether the operator has a right: it sees roles and bindings after
// a moment.
func (s *apiServer) awaitRight(t *testing.T, has bool, right authorizationv1.ResourceAttributes) {
	t.Helper()
	account := testOptions.ServiceAccount
	NewWithT(t).Eventually(func() (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + account.Namespace + ":" + account.Name, ResourceAttributes: &right,
		}}
		err := s.admin.Create(t.Context(), review)
		return review.Status.Allowed, err
	}).Should(Equal(has))
}

// addNode adds a node with CRI-O.
func (s *apiServer) addNode(t *testing.T) {
	t.Helper()
	NewWithT(t).Expect(client.IgnoreAlreadyExists(s.admin.Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node1"}, Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{ContainerRuntimeVersion: "cri-o://1.33"}},
	}))).To(Succeed())
}

// testIntervals let tests wait less.
var testIntervals = intervals{
	kinds: time.Second / 4, missingKinds: time.Second / 2, refusedWatch: time.Second / 2, policies: time.Second / 2, environment: 3 * time.Second, waves: time.Second / 2,
}

// run starts the operator with its own rights, until the test ends.
func (s *apiServer) run(t *testing.T) (*Reconciler, *prometheus.Registry) {
	t.Helper()
	r, registry, _ := s.runAs(t, testOptions, time.Now)
	return r, registry
}

// runAs starts the operator with its own rights, until stop is called or the test ends.
func (s *apiServer) runAs(t *testing.T, o Options, now func() time.Time) (r *Reconciler, registry *prometheus.Registry, stop func()) {
	t.Helper()
	skipName, registry := true, prometheus.NewRegistry()
	r = &Reconciler{Metrics: report.NewMetrics(registry), Options: o, Now: now, intervals: testIntervals}
	lease, renewal, retry := 10*time.Minute, 9*time.Minute, time.Second/2 // No load loses it. An operator that stops releases it.
	mgr, err := NewManager(s.operator, ctrl.Options{
		Logger:         s.log,
		Metrics:        metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "oooi.densityops.com", LeaderElectionNamespace: "oooi-system", LeaderElectionReleaseOnCancel: true,
		LeaseDuration: &lease, RenewDeadline: &renewal, RetryPeriod: &retry,
		Controller: config.Controller{SkipNameValidation: &skipName},
	}, r)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended: %v", err)
		}
	})
	t.Cleanup(stop)
	return r, registry, stop
}
