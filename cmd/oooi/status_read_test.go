package main

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers"
	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/version"
)

var blue = client.ObjectKey{Namespace: "clusters", Name: "blue"}

// blockedLease is a Lease of an address that cannot be read.
func blockedLease() *coordinationv1.Lease {
	o := leaseobject.Of("clusters.vlan100", network.Lease{Address: netip.MustParseAddr("192.168.100.24"), MAC: "02:00:00:00:00:05", Expires: statusAt}, time.Hour, statusAt)
	o.Spec.HolderIdentity = nil
	return o
}

// edgeDeployment is the Deployment of an edge, as far as a user selects it.
func edgeDeployment(n network.Network, e network.Edge) *appsv1.Deployment {
	labels := wire.EdgeLabels(n, e)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: wire.EdgeDeploymentName(n, e), Labels: labels},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "dhcp", Image: "x"}}},
		}},
	}
}

// createBlue creates a hosted cluster with a plan in force, two edges and a lease.
func createBlue(t *testing.T, c client.Client) {
	t.Helper()
	g := NewWithT(t)
	p := statusPlan()
	// As the sample names it.
	p.Networks[0].Name, p.Networks[0].Attachment.Namespace = "clusters-blue.vlan100", "clusters-blue"
	p.Networks[0].Access = openFacts().plan.Networks[0].Access
	n := p.Networks[0]
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}}, apiserver.ControlPlaneNamespace("clusters-blue"),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: wire.PlanConfigMap}, Data: map[string]string{wire.PlanKey: string(p.JSON())}},
		balanced("a1", wire.NamedLabels(wire.NameEdge)), balanced("a2", nil),
	} {
		g.Expect(client.IgnoreAlreadyExists(c.Create(t.Context(), o))).To(Succeed())
	}
	for _, u := range apiserver.Sample(t, "blue") {
		g.Expect(client.IgnoreAlreadyExists(c.Create(t.Context(), u))).To(Succeed(), u.GetName())
	}
	for _, e := range n.Edges {
		d := edgeDeployment(n, e)
		g.Expect(c.Create(t.Context(), d)).To(Succeed())
		apiserver.Serve(d)
		g.Expect(c.Status().Update(t.Context(), d)).To(Succeed())
		x := wire.EdgeReport(n, e)
		report := network.Report{Edge: e.Number, Level: network.LevelReaches, Peer: network.PeerServing}
		g.Expect(c.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: x.Name, Labels: x.Labels,
			Annotations: map[string]string{wire.AnnotationReport: string(report.JSON())}}})).To(Succeed())
	}
	lease := leaseobject.Of(n.Name, network.Lease{Address: netip.MustParseAddr("192.168.100.20"), MAC: "02:00:00:00:00:01", VM: "blue-1",
		Expires: time.Now().Add(time.Hour)}, time.Hour, time.Now())
	lease.Namespace = "clusters-blue"
	g.Expect(c.Create(t.Context(), lease)).To(Succeed())
	g.Expect(c.Create(t.Context(), sliceOf("ignition-server-proxy", "10.0.0.9"))).To(Succeed())
}

// balanced is a Service that stands for one of the hosted cluster.
func balanced(name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: name, Labels: map[string]string{settings.LabelGuestService: name}},
		Spec: corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 80}}}}
}

// settingsOf is the hash as the operator makes it, of whole objects.
func settingsOf(t *testing.T, c client.Client) string { return controllers.Settings(objectsOf(t, c)) }

// objectsOf are the whole objects of the cluster.
func objectsOf(t *testing.T, c client.Client) hcp.Objects {
	t.Helper()
	g := NewWithT(t)
	o := hcp.Objects{HostedCluster: &hyperv1.HostedCluster{}}
	g.Expect(c.Get(t.Context(), blue, o.HostedCluster)).To(Succeed())
	pools, services := &hyperv1.NodePoolList{}, &corev1.ServiceList{}
	g.Expect(c.List(t.Context(), pools, client.InNamespace("clusters"))).To(Succeed())
	g.Expect(c.List(t.Context(), services, client.InNamespace("clusters-blue"))).To(Succeed())
	o.NodePools, o.Services = pools.Items, services.Items
	nads := &nadv1.NetworkAttachmentDefinitionList{}
	g.Expect(c.List(t.Context(), nads)).To(Succeed())
	o.NetworkAttachmentDefinitions = nads.Items
	routes := &routev1.RouteList{}
	g.Expect(c.List(t.Context(), routes, client.InNamespace("clusters-blue"))).To(Succeed())
	o.Routes = routes.Items
	return o
}

// store stores the status as the operator does. A second time replaces it.
func store(t *testing.T, c client.Client, written time.Time) {
	t.Helper()
	g := NewWithT(t)
	o := objectsOf(t, c)
	plan := &corev1.ConfigMap{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "clusters-blue", Name: wire.PlanConfigMap}, plan)).To(Succeed())
	s := explain.StoredStatus{Version: 1, Cluster: "clusters/blue", Written: written, Generation: o.HostedCluster.Generation, Settings: controllers.Settings(o),
		Inputs: controllers.Inputs(o), Plan: explain.PlanHash(plan.Data[wire.PlanKey]), Build: version.Number(), Ready: true, Reason: explain.Ready, Boots: explain.Yes, Summary: "Stored.", Problems: []explain.StoredProblem{}}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: wire.StatusConfigMap}}
	g.Expect(client.IgnoreNotFound(c.Delete(t.Context(), cm))).To(Succeed())
	cm.ResourceVersion, cm.Data = "", map[string]string{wire.StatusKey: string(s.JSON())}
	g.Expect(c.Create(t.Context(), cm)).To(Succeed())
}

// storedCounts: --wait believes nothing from before a change of a spec, or of an operator that does not run. Rights on one
// namespace show whether nodes boot.
func storedCounts(t *testing.T, admin client.Client) {
	read := func() statusReport {
		all, err := statusRequest{name: blue}.read(t.Context(), admin)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return all[0]
	}
	tell(t, admin, settingsOf(t, admin))
	for what, change := range map[string]func(g *WithT){
		"a NodePool": func(g *WithT) {
			pool := &hyperv1.NodePool{}
			g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(firstOf(t, "NodePool")), pool)).To(Succeed())
			pool.Spec.Replicas = new(*pool.Spec.Replicas + 1)
			g.Expect(admin.Update(t.Context(), pool)).To(Succeed())
		},
		"a Service": func(g *WithT) {
			g.Expect(admin.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "late"},
				Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}})).To(Succeed())
		},
		"a NetworkAttachmentDefinition": func(g *WithT) {
			nad := &nadv1.NetworkAttachmentDefinition{}
			g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(firstOf(t, "NetworkAttachmentDefinition")), nad)).To(Succeed())
			nad.Spec.Config += " "
			g.Expect(admin.Update(t.Context(), nad)).To(Succeed())
		},
		"a Route": func(g *WithT) {
			g.Expect(admin.Create(t.Context(), &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "late"},
				Spec: routev1.RouteSpec{Host: "late.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "late"}}})).To(Succeed())
		},
	} {
		g := NewWithT(t)
		store(t, admin, time.Now())
		r := read()
		g.Expect(settled([]statusReport{r})).To(BeTrue(), "%+v", r.Condition)
		change(g)
		r = read()
		g.Expect(settled([]statusReport{r})).To(BeFalse(), what)
		g.Expect(r.Condition.Current.Why).To(ContainSubstring("former NodePools"), what)
	}
	g := NewWithT(t)
	store(t, admin, time.Now().Add(-time.Hour))
	g.Expect(read().Boot.Why).To(ContainSubstring("Check that the operator runs."))
	store(t, admin, time.Now())
}

// tell writes the condition as the operator does.
func tell(t *testing.T, c client.Client, hash string) {
	t.Helper()
	g := NewWithT(t)
	hc := &hyperv1.HostedCluster{}
	g.Expect(c.Get(t.Context(), blue, hc)).To(Succeed())
	hc.Status.Conditions = []metav1.Condition{{
		Type: controllers.ConditionType, Status: metav1.ConditionTrue, Reason: "Ready", ObservedGeneration: hc.Generation,
		LastTransitionTime: metav1.Now(), Message: "Nodes can boot: all.\n(settings " + hash + ")",
	}}
	g.Expect(c.Status().Update(t.Context(), hc)).To(Succeed())
}

// change sets one annotation of o.
func change(t *testing.T, c client.Client, o client.Object, key, value string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
	all := o.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[wire.Prefix+key] = value
	o.SetAnnotations(all)
	g.Expect(c.Update(t.Context(), o)).To(Succeed())
}

// statusReads: on a real API server, a condition is believed until an annotation changes that it is about,
// and --wait returns only when the operator has seen the change. Rights on one namespace show all but the condition.
func statusReads(t *testing.T, server *apiserver.Server) {
	admin := server.Admin
	createBlue(t, admin)
	ask := statusRequest{name: blue}
	read := func(t *testing.T, api client.Reader) statusReport {
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
		g.Expect(r.Networks[0].Endpoints[0].Health).To(Equal(noFault))
		g.Expect(r.Networks[0].Leases[0].VM).To(Equal("blue-1"))
		both := r.Networks[0].Access.LoadBalancers
		g.Expect([]explain.Answer{both[0].LeadsToEdges, both[1].LeadsToEdges}).To(Equal([]explain.Answer{explain.Yes, explain.No}))
	})
	for name, o := range map[string]client.Object{
		"HostedCluster": &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "blue"}},
		"NodePool":      firstOf(t, "NodePool"),
		"NAD":           firstOf(t, "NetworkAttachmentDefinition"),
	} {
		t.Run("an annotation of "+name, func(t *testing.T) {
			g := NewWithT(t)
			tell(t, admin, settingsOf(t, admin))
			g.Expect(read(t, admin).Boot.Answer).To(Equal(explain.Yes))
			change(t, admin, o, "lease-time", "2h")
			r := read(t, admin)
			g.Expect(r.Condition.Current.Answer).To(Equal(explain.No))
			g.Expect(r.Boot.Answer).To(Equal(explain.Unknown))
			change(t, admin, o, "lease-time", "1h")
		})
	}
	t.Run("the plan", func(t *testing.T) { plansDiffer(t, admin) })
	t.Run("--wait is interrupted", func(t *testing.T) { waitIsInterrupted(t, admin) })
	t.Run("--wait gives up", func(t *testing.T) { waitGivesUp(t, admin) })
	t.Run("one of two cannot be read", func(t *testing.T) { oneUnread(t, admin) })
	t.Run("--wait", func(t *testing.T) {
		g := NewWithT(t)
		tell(t, admin, "00000000")
		waiting := statusRequest{name: blue, wait: true, timeout: time.Hour}
		ticks, done := make(chan time.Time), make(chan error)
		go func() {
			_, err := waiting.follow(t.Context(), admin, ticks)
			done <- err
		}()
		ticks <- time.Now()
		tell(t, admin, settingsOf(t, admin))
		ticks <- time.Now()
		g.Eventually(done, time.Minute).Should(Receive(BeNil()), func() string { return fmt.Sprintf("%+v", read(t, admin)) })
	})
	t.Run("what the operator stored", func(t *testing.T) { storedCounts(t, admin) })
	t.Run("with rights on one namespace", func(t *testing.T) { rightsOnOneNamespace(t, server) })
	_, err := statusRequest{name: client.ObjectKey{Namespace: "clusters", Name: "green"}}.read(t.Context(), admin)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("HostedCluster clusters/green: ")))
}

// rightsOnOneNamespace: they show all but the condition, and a wait that can never end ends at once.
func rightsOnOneNamespace(t *testing.T, server *apiserver.Server) {
	admin := server.Admin
	read := func(api client.Reader) statusReport {
		all, err := statusRequest{name: blue}.read(t.Context(), api)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return all[0]
	}
	g := NewWithT(t)
	reader := readerOfBlue(t, server)
	rightsSuffice(t, server)
	r := read(reader)
	g.Expect(r.Boot.Answer).To(Equal(explain.Yes), r.Boot.Why)
	g.Expect(r.Boot.Why).To(HavePrefix("Stored. The operator saw that at "))
	g.Expect(r.Unread).To(Equal([]string{"You have no right to read HostedCluster clusters/blue."}))
	g.Expect(r.Networks[0].Edges[0].Ready).To(Equal(explain.Yes))
	g.Expect(r.Networks[0].Leases).To(HaveLen(1))
	_, err := statusRequest{name: blue, wait: true, timeout: time.Hour}.follow(t.Context(), reader, nil)
	g.Expect(err).To(MatchError(ContainSubstring("--wait needs the right")))

	nothing, err := client.New(apiserver.Impersonating(server.Env.Config, "default", "nothing"), client.Options{Scheme: admin.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	r = read(nothing)
	g.Expect(r.Unread).To(HaveLen(6))
	_, err = statusRequest{wait: true, timeout: time.Hour}.follow(t.Context(), nothing, nil)
	g.Expect(err).To(MatchError(ContainSubstring("HostedClusters: ")), "a missing right does not come while --wait waits")
	_, err = statusRequest{}.read(t.Context(), nothing)
	g.Expect(err).To(MatchError(ContainSubstring("Name one: NAMESPACE/NAME")))
}

// readerOfBlue returns the client of ServiceAccount default/reader, which can read the control plane namespace.
func readerOfBlue(t *testing.T, server *apiserver.Server) client.Client {
	t.Helper()
	g := NewWithT(t)
	meta := metav1.ObjectMeta{Namespace: "clusters-blue", Name: "reader"}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"apps", "coordination.k8s.io", "discovery.k8s.io"}, Resources: []string{"deployments", "leases", "endpointslices"}, Verbs: []string{"list"},
		}, {APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "reader"}}},
	} {
		g.Expect(server.Admin.Create(t.Context(), o)).To(Succeed())
	}
	reader, err := client.New(apiserver.Impersonating(server.Env.Config, "default", "reader"), client.Options{Scheme: server.Admin.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() error {
		return reader.List(t.Context(), &coordinationv1.LeaseList{}, client.InNamespace("clusters-blue"))
	}, time.Minute).Should(Succeed(), "the authorizer learns of new rights")
	return reader
}

// firstOf is the sample's object of a kind.
func firstOf(t *testing.T, kind string) client.Object {
	t.Helper()
	for _, u := range apiserver.Sample(t, "blue") {
		if u.GetKind() == kind {
			return u
		}
	}
	t.Fatal("the sample has no " + kind)
	return nil
}

// TestStatusArguments: a name that is none is refused before a cluster is asked.
func TestStatusArguments(t *testing.T) {
	for name, says := range map[string]string{
		"blue": "blue: want NAMESPACE/NAME of a HostedCluster", "clusters/": "clusters/: want NAMESPACE/NAME", "a/b/c": "a/b/c: want NAMESPACE/NAME",
	} {
		_, stderr, code := oooi(t, "", "status", name)
		NewWithT(t).Expect(stderr).To(ContainSubstring(says))
		NewWithT(t).Expect(code).To(Equal(1))
	}
}
