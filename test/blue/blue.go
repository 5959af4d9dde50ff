// Package blue is the hosted cluster clusters/blue of tests, with a network that two edges serve.
package blue

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/version"
)

// Key names the HostedCluster.
var Key = client.ObjectKey{Namespace: "clusters", Name: "blue"}

// At is when its state is read.
var At = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// Plan has one network with edges, an endpoint, an external host and the ingress on VMs.
func Plan() network.Plan {
	vip := netip.MustParseAddr("192.168.100.3")
	n := network.Network{
		Name: "clusters.vlan100", Attachment: network.Attachment{Namespace: "clusters", Name: "vlan100"}, Primary: true,
		CIDR: netip.MustParsePrefix("192.168.100.0/24"), NextHopVIP: netip.MustParseAddr("192.168.100.2"), ServiceVIP: vip,
		Edges: []network.Edge{{Number: 1, Address: netip.MustParseAddr("192.168.100.4")}, {Number: 2, Address: netip.MustParseAddr("192.168.100.5")}},
		Listeners: []network.Listener{
			{Address: vip, Port: 443, Default: "vms:443", Forwards: []network.Forward{
				{ServerNames: []string{"ignition.blue.example.com"}, Backend: "ignition-server-proxy:443"},
				{ServerNames: []string{"quay.io"}, Backend: "quay.io:443"},
			}},
		},
		Backends: []network.Backend{
			{Name: "ignition-server-proxy:443", Service: "ignition-server-proxy", Port: 443},
			{Name: "vms:443", Kind: network.BackendVMs, Port: 443},
			{Name: "quay.io:443", Kind: network.BackendExternal, Host: "quay.io", Port: 443},
		},
	}
	return network.Plan{Version: network.CurrentPlanVersion, Cluster: network.Cluster{Namespace: "clusters", Name: "blue"}, Networks: []network.Network{n}}
}

// Report is what the operator stores about it at that time.
func Report() *explain.Report {
	edge := problem.Subject{Kind: "Edge", Namespace: "clusters-blue", Name: "oooi-edge-clusters-vlan100-2"}
	return &explain.Report{
		Version: explain.CurrentReportVersion, Cluster: Key.String(), Build: "v0.1.0", Written: At.Add(-9 * time.Minute), Generation: 3, Settings: "01234567", Inputs: "0123456789abcdef",
		Plan: "fedcba9876543210", Ready: true, Reason: explain.ReadyWithWarnings, Boots: explain.Yes, Summary: "Nodes can boot: DHCP is ready.",
		Problems: []explain.ReportProblem{{Problem: problem.Problem{Severity: problem.SeverityWarning, Reason: problem.EdgeUnavailable, Subject: edge}, Text: "Edge 2 is not ready. Check its node."}},
		Omitted:  3, UnavailableEdges: []explain.UnavailableEdge{{Subject: edge, Since: At.Add(-time.Hour)}}, Notes: []string{"Allowed external hosts: quay.io:443."},
	}
}

// Access lets callers in. Load balancer shop/new does not forward to edges yet.
func Access() network.Access {
	return network.Access{
		Port: 3128, Namespaces: []string{"backup", "openshift-monitoring"},
		Destinations: []network.AccessDestination{
			{Name: "db.example.com", Port: 5432, Listen: 5432, Addresses: []netip.Addr{netip.MustParseAddr("192.168.100.60")}},
			{Name: "apps", Port: 443, Names: []string{"*.apps.blue.example.com"}, TargetPort: 30443},
			{Name: "nodes", Port: 10250},
		},
		LoadBalancers: &network.BalancedAccess{Here: true, Services: []network.BalancedService{
			{Name: "a1", HostedService: "shop/web", Ports: []uint16{31080, 31443}}, {Name: "a2", HostedService: "shop/new", Ports: []uint16{31999}},
		}},
	}
}

// LiveCluster is what its HostedCluster says: edge 2 is lost.
func LiveCluster() hcp.LiveCluster {
	r := hcp.UnreadLiveCluster(Key.Namespace, Key.Name)
	r.OptedIn, r.Generation = true, 3
	r.Conditions = []metav1.Condition{{
		Type: own.ConditionType, Status: metav1.ConditionTrue, Reason: "ReadyWithWarnings", ObservedGeneration: 3,
		LastTransitionTime: metav1.NewTime(At), Message: Report().Message(),
	}}
	return r
}

// Reports are those of the edges. That of edge 2 outlived its pod.
func Reports() map[string]reported.EdgeReport {
	n := Plan().Networks[0]
	return map[string]reported.EdgeReport{
		wire.EdgeReportLease(n, n.Edges[0]).Name: {Edge: 1, Level: reported.LevelReaches, Peer: reported.PeerUnreachable, RefusedHosts: []string{"quay.io:443"}},
		wire.EdgeReportLease(n, n.Edges[1]).Name: {Edge: 2, Level: reported.LevelReaches, Peer: reported.PeerServing, DarkBackends: []string{"ignition-server-proxy:443"}},
	}
}

// A Lease is one on a network, by the label of the network.
type Lease struct {
	Network string
	network.Lease
}

// Leases are in each state, the last one blocked.
func Leases() (out []Lease) {
	for _, l := range []struct {
		network, address, mac, vm string
		left                      time.Duration
	}{
		{"clusters.vlan100", "192.168.100.20", "02:00:00:00:00:01", "blue-worker-1", 2 * time.Hour},
		{"clusters.vlan100", "192.168.100.21", "", "", time.Hour},
		{"clusters.vlan100", "192.168.100.22", "02:00:00:00:00:02", "blue-worker-2", -time.Hour},
		{"clusters.former", "192.168.7.9", "02:00:00:00:00:03", "", time.Hour},
	} {
		out = append(out, Lease{l.network, network.Lease{Address: netip.MustParseAddr(l.address), MAC: l.mac, VM: l.vm, Expires: At.Add(l.left)}})
	}
	blocked, err := leaseobject.Read(blockedLease())
	if err != nil {
		panic(err)
	}
	return append(out, Lease{"clusters.vlan100", blocked})
}

// blockedLease is a Lease of an address that cannot be read.
func blockedLease() *coordinationv1.Lease {
	o := leaseobject.Of("clusters.vlan100", network.Lease{Address: netip.MustParseAddr("192.168.100.24"), MAC: "02:00:00:00:00:05", Expires: At}, time.Hour, At)
	o.Spec.HolderIdentity = nil
	return o
}

// EndpointSlice is the EndpointSlice of a Service with one unnamed port, and with these addresses.
func EndpointSlice(service string, addresses ...string) *discoveryv1.EndpointSlice {
	port := int32(443)
	out := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "clusters-blue", Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}},
	}
	for _, a := range addresses {
		out.Endpoints = append(out.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return out
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

// Create creates a hosted cluster with a plan in force, two edges and a lease.
func Create(t *testing.T, c client.Client) {
	t.Helper()
	g := NewWithT(t)
	p := Plan()
	// As the sample names it.
	p.Networks[0].Name, p.Networks[0].Attachment.Namespace = "clusters-blue.vlan100", "clusters-blue"
	p.Networks[0].Access = Access()
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
		x := wire.EdgeReportLease(n, e)
		report := reported.EdgeReport{Edge: e.Number, Level: reported.LevelReaches, Peer: reported.PeerServing}
		g.Expect(c.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: x.Name, Labels: x.Labels,
			Annotations: map[string]string{wire.AnnotationReport: string(report.JSON())}}})).To(Succeed())
	}
	lease := leaseobject.Of(n.Name, network.Lease{Address: netip.MustParseAddr("192.168.100.20"), MAC: "02:00:00:00:00:01", VM: "blue-1",
		Expires: time.Now().Add(time.Hour)}, time.Hour, time.Now())
	lease.Namespace = "clusters-blue"
	g.Expect(c.Create(t.Context(), lease)).To(Succeed())
	g.Expect(c.Create(t.Context(), EndpointSlice("ignition-server-proxy", "10.0.0.9"))).To(Succeed())
}

// balanced is a Service that stands for one of the hosted cluster.
func balanced(name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: name, Labels: map[string]string{settings.LabelHostedService: name}},
		Spec: corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 80}}}}
}

// Settings is the hash as the operator makes it.
func Settings(t *testing.T, c client.Client) string { return report.Settings(Objects(t, c)) }

// Objects are those of the cluster, as the operator reads them.
func Objects(t *testing.T, c client.Client) hcp.Objects {
	t.Helper()
	g := NewWithT(t)
	var dump files.Dump
	for kind, namespace := range map[schema.GroupVersionKind]string{
		hyperv1.GroupVersion.WithKind("HostedCluster"):                   Key.Namespace,
		hyperv1.GroupVersion.WithKind("NodePool"):                        Key.Namespace,
		nadv1.SchemeGroupVersion.WithKind("NetworkAttachmentDefinition"): "",
		routev1.GroupVersion.WithKind("Route"):                           "clusters-blue",
		corev1.SchemeGroupVersion.WithKind("Service"):                    "clusters-blue",
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		g.Expect(c.List(t.Context(), list, client.InNamespace(namespace))).To(Succeed())
		for _, u := range list.Items {
			g.Expect(dump.AddUnstructured(u)).To(Succeed())
		}
	}
	all := dump.Clusters()
	i := slices.IndexFunc(all, func(o hcp.Objects) bool { return o.HostedCluster.Name == Key.Name })
	g.Expect(i).NotTo(BeNumerically("<", 0))
	return all[i]
}

// Tell writes the condition and stores the Report as the operator does.
func Tell(t *testing.T, c client.Client, hash string) {
	t.Helper()
	g := NewWithT(t)
	hc := &hyperv1.HostedCluster{}
	g.Expect(c.Get(t.Context(), Key, hc)).To(Succeed())
	hc.Status.Conditions = []metav1.Condition{{
		Type: own.ConditionType, Status: metav1.ConditionTrue, Reason: "Ready", ObservedGeneration: hc.Generation,
		LastTransitionTime: metav1.Now(), Message: "Nodes can boot: all.\n(settings " + hash + ")",
	}}
	g.Expect(c.Status().Update(t.Context(), hc)).To(Succeed())
	Store(t, c, hash, time.Now())
}

// Store stores the Report as the operator of this build does, about these annotations. A second time replaces it.
func Store(t *testing.T, c client.Client, hash string, written time.Time) {
	t.Helper()
	g := NewWithT(t)
	o, plan := Objects(t, c), &corev1.ConfigMap{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "clusters-blue", Name: wire.PlanConfigMap}, plan)).To(Succeed())
	r := explain.Report{
		Version: explain.CurrentReportVersion, Cluster: Key.String(), Build: version.Number(), Written: written, Generation: o.HostedCluster.Generation, Settings: hash,
		Inputs: report.Inputs(o), Plan: explain.PlanHash(plan.Data[wire.PlanKey]), Ready: true, Reason: explain.Ready, Boots: explain.Yes, Summary: "Stored.",
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: wire.StatusConfigMap}}
	g.Expect(client.IgnoreNotFound(c.Delete(t.Context(), cm))).To(Succeed())
	cm.ResourceVersion, cm.Data = "", map[string]string{wire.StatusKey: string(r.JSON())}
	g.Expect(c.Create(t.Context(), cm)).To(Succeed())
}

// Change sets one annotation of o.
func Change(t *testing.T, c client.Client, o client.Object, key, value string) {
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

// Reader returns the client of ServiceAccount default/reader, which can read the control plane namespace.
func Reader(t *testing.T, server *apiserver.Server) client.Client {
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
	}, time.Minute).Should(Succeed(), "the authorizer knows the new rights")
	return reader
}

// FirstOf is the sample's object of a kind.
func FirstOf(t *testing.T, kind string) client.Object {
	t.Helper()
	for _, u := range apiserver.Sample(t, "blue") {
		if u.GetKind() == kind {
			return u
		}
	}
	t.Fatal("the sample has no " + kind)
	return nil
}

// Clean deletes all of the hosted cluster when the test ends. The namespaces stay, as no controller ends their deletion.
func Clean(t *testing.T, server *apiserver.Server) {
	t.Helper()
	t.Cleanup(func() { removeObjects(t, server, Key.Namespace, "clusters-blue") })
}

func removeObjects(t *testing.T, server *apiserver.Server, namespaces ...string) {
	g, ctx := NewWithT(t), context.WithoutCancel(t.Context())
	kinds, err := discovery.NewDiscoveryClientForConfig(server.Env.Config)
	g.Expect(err).NotTo(HaveOccurred())
	objects, err := dynamic.NewForConfig(server.Env.Config)
	g.Expect(err).NotTo(HaveOccurred())
	lists, err := kinds.ServerPreferredNamespacedResources()
	g.Expect(err).NotTo(HaveOccurred())
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		g.Expect(err).NotTo(HaveOccurred())
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "deletecollection") {
				continue
			}
			for _, ns := range namespaces {
				all := objects.Resource(version.WithResource(r.Name)).Namespace(ns)
				g.Expect(all.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{})).To(Succeed(), r.Name)
			}
		}
	}
}

// RemovePolicies deletes the admission policies of oooi and of tests, with their bindings.
func RemovePolicies(t *testing.T, admin client.Client) {
	g, ctx := NewWithT(t), context.WithoutCancel(t.Context())
	for _, o := range []client.Object{&admissionv1.ValidatingAdmissionPolicyBinding{}, &admissionv1.ValidatingAdmissionPolicy{}} {
		g.Expect(admin.DeleteAllOf(ctx, o, client.MatchingLabels{wire.LabelName: wire.Owner})).To(Succeed())
	}
}
