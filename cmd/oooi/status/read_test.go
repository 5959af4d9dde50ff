package status

import (
	"fmt"
	"testing"
	"time"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/blue"
)

// storedCounts: --wait believes nothing from before a change of a spec, or of an operator that does not run. Rights on one
// namespace show whether nodes boot.
func storedCounts(t *testing.T, admin client.Client) {
	read := func() Output {
		all, err := Request{Name: blue.Key}.read(t.Context(), admin)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return all[0]
	}
	blue.Tell(t, admin, blue.Settings(t, admin))
	for what, change := range map[string]func(g *WithT){
		"a NodePool": func(g *WithT) {
			pool := &hyperv1.NodePool{}
			g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(blue.FirstOf(t, "NodePool")), pool)).To(Succeed())
			pool.Spec.Replicas = new(*pool.Spec.Replicas + 1)
			g.Expect(admin.Update(t.Context(), pool)).To(Succeed())
		},
		"a Service": func(g *WithT) {
			g.Expect(admin.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "late"},
				Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}})).To(Succeed())
		},
		"a NetworkAttachmentDefinition": func(g *WithT) {
			nad := &nadv1.NetworkAttachmentDefinition{}
			g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(blue.FirstOf(t, "NetworkAttachmentDefinition")), nad)).To(Succeed())
			nad.Spec.Config += " "
			g.Expect(admin.Update(t.Context(), nad)).To(Succeed())
		},
		"a Route": func(g *WithT) {
			g.Expect(admin.Create(t.Context(), &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "late"},
				Spec: routev1.RouteSpec{Host: "late.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "late"}}})).To(Succeed())
		},
	} {
		g := NewWithT(t)
		blue.Store(t, admin, blue.Settings(t, admin), time.Now())
		r := read()
		g.Expect(settled([]Output{r})).To(BeTrue(), "%+v", r.Condition)
		change(g)
		r = read()
		g.Expect(settled([]Output{r})).To(BeFalse(), what)
		g.Expect(r.Condition.Current.Why).To(ContainSubstring("previous NodePools"), what)
	}
	g := NewWithT(t)
	blue.Store(t, admin, blue.Settings(t, admin), time.Now().Add(-time.Hour))
	g.Expect(read().Boot.Why).To(ContainSubstring("Check that the operator runs."))
	blue.Store(t, admin, blue.Settings(t, admin), time.Now())
}

// statusReads: on a real API server, a condition is believed until an annotation changes that it is about,
// and --wait returns only when the operator has seen the change. Rights on one namespace show all but the condition.
func statusReads(t *testing.T, server *apiserver.Server) {
	admin := server.Admin
	blue.Create(t, admin)
	ask := Request{Name: blue.Key}
	read := func(t *testing.T, api client.Reader) Output {
		t.Helper()
		all, err := ask.read(t.Context(), api)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return all[0]
	}

	t.Run("until the operator reports", func(t *testing.T) {
		r := read(t, admin)
		g := NewWithT(t)
		g.Expect(r.Boot.Answer).To(Equal(explain.Unknown))
		g.Expect(r.Unread).To(BeEmpty())
		g.Expect(r.Networks[0].Edges[1].Ready).To(Equal(explain.Yes))
		g.Expect(r.Networks[0].Endpoints[0].Health).To(Equal("no fault reported"))
		g.Expect(r.Networks[0].Leases[0].VM).To(Equal("blue-1"))
		both := r.Networks[0].Access.LoadBalancers
		g.Expect([]explain.Answer{both[0].ForwardsToEdges, both[1].ForwardsToEdges}).To(Equal([]explain.Answer{explain.Yes, explain.No}))
	})
	for name, o := range map[string]client.Object{
		"HostedCluster": &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "blue"}},
		"NodePool":      blue.FirstOf(t, "NodePool"),
		"NAD":           blue.FirstOf(t, "NetworkAttachmentDefinition"),
	} {
		t.Run("an annotation of "+name, func(t *testing.T) {
			g := NewWithT(t)
			blue.Tell(t, admin, blue.Settings(t, admin))
			g.Expect(read(t, admin).Boot.Answer).To(Equal(explain.Yes))
			blue.Change(t, admin, o, "lease-time", "2h")
			r := read(t, admin)
			g.Expect(r.Condition.Current.Answer).To(Equal(explain.No))
			g.Expect(r.Boot.Answer).To(Equal(explain.Unknown))
			blue.Change(t, admin, o, "lease-time", "1h")
		})
	}
	t.Run("the plan", func(t *testing.T) { plansDiffer(t, admin) })
	t.Run("--wait is interrupted", func(t *testing.T) { waitIsInterrupted(t, admin) })
	t.Run("--wait gives up", func(t *testing.T) { waitGivesUp(t, admin) })
	t.Run("one of two cannot be read", func(t *testing.T) { oneUnread(t, admin) })
	t.Run("--wait", func(t *testing.T) {
		g := NewWithT(t)
		blue.Tell(t, admin, "00000000")
		waiting := Request{Name: blue.Key, wait: true, timeout: time.Hour}
		ticks, done := make(chan time.Time), make(chan error)
		go func() {
			_, err := waiting.follow(t.Context(), admin, ticks)
			done <- err
		}()
		ticks <- time.Now()
		blue.Tell(t, admin, blue.Settings(t, admin))
		ticks <- time.Now()
		g.Eventually(done, time.Minute).Should(Receive(BeNil()), func() string { return fmt.Sprintf("%+v", read(t, admin)) })
	})
	t.Run("what the operator stored", func(t *testing.T) { storedCounts(t, admin) })
	t.Run("with rights on one namespace", func(t *testing.T) { rightsOnOneNamespace(t, server) })
	_, err := Request{Name: client.ObjectKey{Namespace: "clusters", Name: "green"}}.read(t.Context(), admin)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("HostedCluster clusters/green: ")))
}

// rightsOnOneNamespace: they show all but the condition, and a wait that can never end ends immediately.
func rightsOnOneNamespace(t *testing.T, server *apiserver.Server) {
	admin := server.Admin
	read := func(api client.Reader) Output {
		all, err := Request{Name: blue.Key}.read(t.Context(), api)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return all[0]
	}
	g := NewWithT(t)
	reader := blue.Reader(t, server)
	rightsSuffice(t, server)
	r := read(reader)
	g.Expect(r.Boot.Answer).To(Equal(explain.Yes), r.Boot.Why)
	g.Expect(r.Boot.Why).To(HavePrefix("Stored. The operator saw that at "))
	g.Expect(r.Unread).To(Equal([]string{"You have no right to read HostedCluster clusters/blue."}))
	g.Expect(r.Networks[0].Edges[0].Ready).To(Equal(explain.Yes))
	g.Expect(r.Networks[0].Leases).To(HaveLen(1))
	_, err := Request{Name: blue.Key, wait: true, timeout: time.Hour}.follow(t.Context(), reader, nil)
	g.Expect(err).To(MatchError(ContainSubstring("--wait needs the right")))

	nothing, err := client.New(apiserver.Impersonating(server.Env.Config, "default", "nothing"), client.Options{Scheme: admin.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	r = read(nothing)
	g.Expect(r.Unread).To(HaveLen(6))
	_, err = Request{wait: true, timeout: time.Hour}.follow(t.Context(), nothing, nil)
	g.Expect(err).To(MatchError(ContainSubstring("HostedClusters: ")), "a missing right does not come while --wait waits")
	_, err = Request{}.read(t.Context(), nothing)
	g.Expect(err).To(MatchError(ContainSubstring("Name one as NAMESPACE/NAME")))
}

// TestStatusArguments: an invalid name is refused before a cluster is asked.
func TestStatusArguments(t *testing.T) {
	for name, says := range map[string]string{
		"clusters/": "clusters/: want NAME or NAMESPACE/NAME of a HostedCluster", "a/b/c": "a/b/c: want NAME or NAMESPACE/NAME",
	} {
		_, stderr, code := oooi(t, "", "status", name)
		NewWithT(t).Expect(stderr).To(ContainSubstring(says))
		NewWithT(t).Expect(code).To(Equal(1))
	}
}
