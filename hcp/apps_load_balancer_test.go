package hcp_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	operatorv1 "github.com/openshift/api/operator/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// The labels that KubeVirt's cloud provider writes.
const (
	hostedService  = "cluster.x-k8s.io/tenant-service-name"
	guestNamespace = "cluster.x-k8s.io/tenant-service-namespace"
)

// withRouter adds what the cloud provider makes from Service openshift-ingress/router-default: a copy
// with the node ports as target ports. address is that of its load balancer, empty: pending.
func withRouter(o *hcp.Objects, address string) *corev1.Service {
	svc := corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "a0c1", Labels: map[string]string{
			hostedService: "router-default", guestNamespace: "openshift-ingress", "cluster.x-k8s.io/cluster-name": o.HostedCluster.Spec.InfraID}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.96.1.9",
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
			Ports: []corev1.ServicePort{
				{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(30080), NodePort: 31001},
				{Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromInt32(30443), NodePort: 31002}}},
	}
	if address != "" {
		svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	}
	o.Services = append(o.Services, svc)
	return &o.Services[len(o.Services)-1]
}

// withDocumented adds the Service for *.apps that HyperShift's documentation has.
func withDocumented(o *hcp.Objects) {
	o.Services = append(o.Services, corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: o.HostedCluster.Name + "-apps"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"kubevirt.io": "virt-launcher"},
			Ports: []corev1.ServicePort{
				{Name: "https-443", Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(32443)},
				{Name: "http-80", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(32080)}}},
	})
}

func ofLoadBalancer(o *hcp.Objects) {
	o.HostedIngress = &operatorv1.EndpointPublishingStrategy{Type: operatorv1.LoadBalancerServiceStrategyType}
}

// TestAppsLoadBalancer checks the Services with a load balancer that forward to the ingress.
func TestAppsLoadBalancer(t *testing.T) {
	viaCopy := network.Backend{Kind: network.BackendVMs, Name: "a0c1:443", Service: "a0c1", Port: 443, PortName: "https", TargetPort: 30443}
	viaYounger := viaCopy
	viaYounger.Name, viaYounger.Service = "a0b0:443", "a0b0"
	documented := network.Backend{Kind: network.BackendVMs, Name: "vms:32443", Port: 32443}
	for name, c := range map[string]appsCase{
		"a load balancer of the guest": {func(o *hcp.Objects) { withRouter(o, "10.240.0.201") }, &viaCopy, "192.168.100.3", ""},
		"its address is pending":       {func(o *hcp.Objects) { withRouter(o, "") }, &viaCopy, "192.168.100.3", ""},
		"its address is IPv6":          {func(o *hcp.Objects) { withRouter(o, "fd00::1") }, &viaCopy, "192.168.100.3", ""},
		"it is on the network":         {func(o *hcp.Objects) { withRouter(o, "192.168.100.80") }, &viaCopy, "192.168.100.80", ""},
		"it has an edge's address":     {func(o *hcp.Objects) { withRouter(o, "192.168.100.4") }, &viaCopy, "192.168.100.3", ""},
		"the copy is pending":          {ofLoadBalancer, nil, "", problem.WaitingForEndpoint},
		"the guest changed its type":   {func(o *hcp.Objects) { hostNetwork(o, 0); withRouter(o, "") }, &viaCopy, "192.168.100.3", ""},
		"the copy of a former Service": {func(o *hcp.Objects) {
			withRouter(o, "192.168.100.80").CreationTimestamp = metav1.Unix(1000, 0)
			younger := withRouter(o, "")
			younger.Name, younger.CreationTimestamp = "a0b0", metav1.Unix(2000, 0)
		}, &viaYounger, "192.168.100.3", ""},
		"only a copy that goes": {func(o *hcp.Objects) { withRouter(o, "").DeletionTimestamp = &metav1.Time{} }, &viaCopy, "192.168.100.3", ""},
		"the younger copy goes": {func(o *hcp.Objects) {
			withRouter(o, "").CreationTimestamp = metav1.Unix(1000, 0)
			younger := withRouter(o, "")
			younger.Name, younger.CreationTimestamp, younger.DeletionTimestamp = "a0b0", metav1.Unix(2000, 0), &metav1.Time{}
		}, &viaCopy, "192.168.100.3", ""},
		"a Service of this name elsewhere": {func(o *hcp.Objects) { withRouter(o, "").Labels[guestNamespace] = "dev" }, nil, "", problem.AppsUnreachable},
		"another ingress":                  {func(o *hcp.Objects) { withRouter(o, "").Labels[hostedService] = "router-shard" }, nil, "", problem.AppsUnreachable},
		"a Service as documented":          {withDocumented, &documented, "192.168.100.3", ""},
		"the documented one, not published": {func(o *hcp.Objects) {
			withDocumented(o)
			o.Services[len(o.Services)-1].Spec.Type = corev1.ServiceTypeClusterIP
		}, nil, "", problem.AppsUnreachable},
		"the documented one wins over a type that HyperShift reads once": {func(o *hcp.Objects) { withDocumented(o); hostNetwork(o, 0) }, &documented, "192.168.100.3", problem.AppsUnreachable},
		"the copy wins": {func(o *hcp.Objects) { withDocumented(o); withRouter(o, "") }, &viaCopy, "192.168.100.3", ""},
		"an annotation wins over the copy": {func(o *hcp.Objects) {
			withRouter(o, "192.168.100.80")
			annotate(o, "apps-address", "192.168.100.6")
		}, nil, "192.168.100.6", ""},
		"a record wins over the copy": {func(o *hcp.Objects) {
			withRouter(o, "192.168.100.80")
			annotate(o, "dns-records", "*.apps.blue.example.com=192.168.100.6")
		}, nil, "192.168.100.6", ""},
	} {
		t.Run(name, c.run)
	}
}

// TestAppsPlainHTTP: port 80 of *.apps is forwarded to the same ingress, if the ingress' port for HTTP is known.
func TestAppsPlainHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		given   func(*hcp.Objects)
		backend string // of port 80; empty: closed
	}{
		"a load balancer of the guest":    {func(o *hcp.Objects) { withRouter(o, "") }, "a0c1:80"},
		"on the network":                  {func(o *hcp.Objects) { withRouter(o, "192.168.100.80") }, "a0c1:80"},
		"a Service as documented":         {withDocumented, "vms:32080"},
		"both, at the nodes' port 443":    {func(o *hcp.Objects) { withDocumented(o); hostNetwork(o, 32443) }, "vms:32080"},
		"the nodes' own port":             {func(o *hcp.Objects) { hostNetwork(o, 0) }, "vms:80"},
		"the nodes' own port, chosen":     {func(o *hcp.Objects) { hostNetwork(o, 0); o.HostedIngress.HostNetwork.HTTPPort = 8080 }, "vms:8080"},
		"passthrough":                     {func(o *hcp.Objects) { passthrough(o, true) }, ""},
		"passthrough of the nodes' ports": {func(o *hcp.Objects) { passthrough(o, true); hostNetwork(o, 0) }, "vms:80"},
		"HTTPS only": {func(o *hcp.Objects) {
			svc := withRouter(o, "")
			svc.Spec.Ports = svc.Spec.Ports[1:]
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			c.given(&o)
			p, problems := plan(o)
			g.Expect(problems.Has(problem.AppsUnreachable)).To(BeFalse())
			var leads string
			for _, l := range p.Networks[0].Listeners {
				if l.Port == 80 {
					g.Expect(l.Address).To(Equal(p.Networks[0].ServiceVIP))
					g.Expect(l.Forwards).To(BeEmpty(), "clients of HTTP send no server name")
					leads = l.Default
				}
			}
			g.Expect(leads).To(Equal(c.backend))
		})
	}
}

// TestAppsLoadBalancerOnNetwork: where the load balancer of the ingress is on a network, its names
// resolve to it, and no VM gets its address. Edges listen at the service VIP, too, for names below
// *.apps that resolve there.
func TestAppsLoadBalancerOnNetwork(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	withRouter(&o, "192.168.100.80")
	further := another(o, "further", false)
	further.Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: "clusters/vlan200"}}
	o.NodePools = append(o.NodePools, further)
	nad := *o.NetworkAttachmentDefinitions[0].DeepCopy()
	nad.Name, nad.Spec.Config = "vlan200", strings.ReplaceAll(nad.Spec.Config, "100", "200")
	o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, nad)
	annotate(&o, "cidr.further", "192.168.200.0/24")

	p, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
	g.Expect(p.Networks).To(HaveLen(2))
	for _, n := range p.Networks {
		at := n.ServiceVIP.String()
		if n.Attachment.Name == "vlan100" {
			at = "192.168.100.80"
			g.Expect(n.DHCP.Named).To(HaveExactElements(HaveField("String()", at)), "no VM gets it")
		}
		g.Expect(n.Backends).To(ContainElement(HaveField("Service", "a0c1")), n.Name)
		g.Expect(n.DNS.Views[0].Records).To(ContainElement(And(HaveField("Name", "*.apps.blue.example.com"),
			HaveField("Addresses", HaveExactElements(HaveField("String()", at))))), n.Name)
	}

	annotate(&o, "services", "dns")
	p, problems = plan(o)
	g.Expect(p.Networks[0].DNS.Views[0].Records).To(ContainElement(HaveField("Name", "*.apps.blue.example.com")), "no edge is needed for it")
	for _, x := range problems {
		g.Expect(x.Cause == problem.ProxyByOthers && slices.Contains(x.Args["network"], "clusters/vlan100") && slices.Contains(x.Args["endpoints"], "apps")).To(BeFalse(), "%v", x)
	}
}

// TestAppsLoadBalancerInUse: two hosts have the address, and a problem reports it to the user. *.apps does not move to it.
func TestAppsLoadBalancerInUse(t *testing.T) {
	for by, c := range map[string]struct {
		given   func(*hcp.Objects)
		address string
	}{
		"an edge":       {func(*hcp.Objects) {}, "192.168.100.3"},
		"the gateway":   {func(o *hcp.Objects) { annotate(o, "gateway", "192.168.100.80") }, "192.168.100.80"},
		"a DNS server":  {func(o *hcp.Objects) { annotate(o, "dns-upstreams", "192.168.100.80:5353") }, "192.168.100.80"},
		"an NTP server": {func(o *hcp.Objects) { annotate(o, "ntp-servers", "192.168.100.80") }, "192.168.100.80"},
		"the reservation of 02:00:00:00:00:01": {func(o *hcp.Objects) {
			annotate(o, "reservations", "02:00:00:00:00:01=192.168.100.80")
		}, "192.168.100.80"},
	} {
		t.Run(by, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			c.given(&o)
			withRouter(&o, c.address)
			p, problems := plan(o)
			g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.AppsLoadBalancerInUse), HaveField("Severity", problem.SeverityWarning),
				WithTransform(message, And(ContainSubstring(c.address), ContainSubstring(by))))))
			n := p.Networks[0]
			g.Expect(n.DNS.Views[0].Records).To(ContainElement(And(HaveField("Name", "*.apps.blue.example.com"), HaveField("Addresses", HaveExactElements(n.ServiceVIP)))))
			g.Expect(p.Validate()).To(Succeed())
		})
	}
}

// TestAppsLoadBalancerIsPublished: one load balancer may have the API and the ingress, at two ports.
func TestAppsLoadBalancerIsPublished(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	withRouter(&o, "10.240.0.200")
	p, problems := plan(o)
	g.Expect(p.Networks[0].PublishedAddresses).To(HaveExactElements(HaveField("String()", "10.240.0.200")), "a sharp test")
	g.Expect(problems).NotTo(ContainElement(HaveField("Cause", problem.AppsLoadBalancerInUse)))
}

// TestAppsYieldsPort80: a Service that the user publishes at port 80 keeps it, and *.apps only has HTTPS.
func TestAppsYieldsPort80(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	withService(&o, "git", "git.example.com:80", corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}})
	before, _ := plan(o)
	withRouter(&o, "")
	after, problems := plan(o)
	for _, l := range before.Networks[0].Listeners {
		if l.Port == 80 {
			g.Expect(after.Networks[0].Listeners).To(ContainElement(l))
		}
	}
	g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.ListenerInUse), HaveField("Severity", problem.SeverityInfo))))
	g.Expect(after.Networks[0].Backends).To(ContainElement(HaveField("Name", "a0c1:443")))
}

// TestAppsLastKnownGood: a copy that is missing for a moment changes nothing. The user of HyperShift may have chosen the load balancer, or
// later the administrator of the hosted cluster. A problem says what to do if the copy does not return. If something else serves *.apps,
// that is used.
func TestAppsLastKnownGood(t *testing.T) {
	for _, chosenBy := range []string{"HyperShift's user", "the guest's administrator"} {
		g := NewWithT(t)
		o := served(t)
		if chosenBy == "HyperShift's user" {
			ofLoadBalancer(&o)
		}
		withRouter(&o, "192.168.100.80")
		last, _ := plan(o)
		o.Services = o.Services[:len(o.Services)-1]
		replan := func() (network.Plan, problem.Problems) {
			r, f := hcp.Translate(o, last)
			return after(given{r, f}, last)
		}
		now, problems := replan()
		g.Expect(now).To(Equal(last), chosenBy)
		g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.LastGoodIngress), HaveField("Severity", problem.SeverityWarning),
			WithTransform(message, ContainSubstring("blue-apps")))))
		last = now
		again, _ := replan()
		g.Expect(again).To(Equal(last))

		withDocumented(&o)
		now, problems = replan()
		g.Expect(now.Networks[0].Backends).To(ContainElement(HaveField("Name", "vms:32443")))
		g.Expect(problems).NotTo(ContainElement(HaveField("Cause", problem.LastGoodIngress)))
	}
}

// TestAppsDocumentedLoadBalancer: names do not resolve to the load balancer of the Service that users create, because nothing answers there. No VM gets its
// address, and nothing waits for one.
func TestAppsDocumentedLoadBalancer(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	withDocumented(&o)
	p, problems := plan(o)
	o.Services[len(o.Services)-1].Status = balancedAt("192.168.100.81")
	balanced, _ := plan(o)
	g.Expect(balanced.Networks[0].DHCP.Named).To(HaveExactElements(HaveField("String()", "192.168.100.81")))
	for _, x := range []network.Plan{p, balanced} {
		n := x.Networks[0]
		g.Expect(n.DNS.Views[0].Records).To(ContainElement(And(HaveField("Name", "*.apps.blue.example.com"), HaveField("Addresses", HaveExactElements(n.ServiceVIP)))))
	}
	in, _ := translated(o)
	g.Expect(in.Waiting).To(BeEmpty())
	g.Expect(problems).NotTo(ContainElement(HaveField("Reason", problem.WaitingForEndpoint)))
}

func balancedAt(address string) corev1.ServiceStatus {
	return corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: address}}}}
}

// TestServiceHasEdgeAddress: a load balancer of the control plane with an address of edges prevents a plan, or is a Warning if edges run there. A name at which
// HyperShift publishes does not matter.
func TestServiceHasEdgeAddress(t *testing.T) {
	for address, role := range map[string]string{"192.168.100.2": "next-hop VIP", "192.168.100.3": "service VIP", "192.168.100.5": "edge 2 address", "192.168.100.80": "", "10.240.0.3": ""} {
		g := NewWithT(t)
		o := served(t)
		last, _ := plan(o)
		o.HostedCluster.Status.ControlPlaneEndpoint.Host = "api.blue.example.com"
		for i := range o.Services {
			if o.Services[i].Name == network.APIService {
				o.Services[i].Status = balancedAt(address)
			}
		}
		of := func(last network.Plan) problem.Problems {
			r, f := hcp.Translate(o, last)
			_, ps := after(given{r, f}, last)
			return causesOf(ps, problem.ServiceHasEdgeAddress)
		}
		if role == "" {
			g.Expect(of(network.Plan{})).To(BeEmpty())
			continue
		}
		g.Expect(of(network.Plan{})).To(HaveExactElements(And(HaveField("Severity", problem.SeverityError), WithTransform(message, And(ContainSubstring(role), ContainSubstring("Service kube-apiserver has "+address))))))
		g.Expect(of(last)).To(HaveExactElements(HaveField("Severity", problem.SeverityWarning)))
	}
}

// TestAppsLoadBalancerWithoutAddress: an address that is missing for a moment moves no connection, and no VM gets the address. The address
// of another copy is not kept.
func TestAppsLoadBalancerWithoutAddress(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	svc := withRouter(&o, "192.168.100.80")
	last, _ := plan(o)
	svc.Status = corev1.ServiceStatus{}
	in, _ := translated(o)
	now, problems := after(in, last)
	g.Expect(now).To(Equal(last))
	g.Expect(now.Networks[0].DHCP.Named).To(HaveLen(1))
	g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.LastGoodEndpoint), WithTransform(message, ContainSubstring("the load balancer of *.apps.blue.example.com")))))
	now, problems = derived(in)
	g.Expect(now.Networks[0].DHCP.Named).To(BeEmpty(), "it has none yet")
	g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.IngressLoadBalancerPending), HaveField("Severity", problem.SeverityWarning))))
	_, facts := hcp.Translate(o, last)
	g.Expect(facts.Problems).NotTo(ContainElement(HaveField("Cause", problem.IngressLoadBalancerPending)), "it had one")
	g.Expect(problems).NotTo(ContainElement(HaveField("Cause", problem.LastGoodEndpoint)))

	svc.Name = "a0b0"
	in, _ = translated(o)
	now, _ = after(in, last)
	g.Expect(now.Networks[0].DHCP.Named).To(BeEmpty(), "another load balancer")

	svc.Name, svc.Status.LoadBalancer.Ingress = "a0c1", []corev1.LoadBalancerIngress{{IP: "192.168.100.81"}}
	in, _ = translated(o)
	now, _ = after(in, last)
	g.Expect(now.Networks[0].DHCP.Named).To(HaveExactElements(HaveField("String()", "192.168.100.81")))
}
