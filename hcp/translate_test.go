package hcp_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// publish sets the strategy of s.
func publish(o hcp.Objects, s hyperv1.ServiceType, how hyperv1.ServicePublishingStrategy) {
	for i := range o.HostedCluster.Spec.Services {
		if o.HostedCluster.Spec.Services[i].Service == s {
			o.HostedCluster.Spec.Services[i].ServicePublishingStrategy = how
		}
	}
}

// TestUnsupportedStrategies checks that a strategy that HyperShift does not implement is
// an error that names the field.
func TestUnsupportedStrategies(t *testing.T) {
	for name, c := range map[string]struct {
		service hyperv1.ServiceType
		how     hyperv1.ServicePublishingStrategy
		field   string
	}{
		"API by None":               {hyperv1.APIServer, hyperv1.ServicePublishingStrategy{Type: hyperv1.None}, "spec.services[APIServer].servicePublishingStrategy.type"},
		"API by S3":                 {hyperv1.APIServer, hyperv1.ServicePublishingStrategy{Type: hyperv1.S3}, "spec.services[APIServer].servicePublishingStrategy.type"},
		"API by Route without host": {hyperv1.APIServer, hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}, "spec.services[APIServer].servicePublishingStrategy.route.hostname"},
		"OAuth by LoadBalancer":     {hyperv1.OAuthServer, hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}, "spec.services[OAuthServer].servicePublishingStrategy.type"},
		"Ignition by LoadBalancer":  {hyperv1.Ignition, hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}, "spec.services[Ignition].servicePublishingStrategy.type"},
		"Ignition by None":          {hyperv1.Ignition, hyperv1.ServicePublishingStrategy{Type: hyperv1.None}, "spec.services[Ignition].servicePublishingStrategy.type"},
		"Konnectivity by S3":        {hyperv1.Konnectivity, hyperv1.ServicePublishingStrategy{Type: hyperv1.S3}, "spec.services[Konnectivity].servicePublishingStrategy.type"},
		"NodePort at localhost":     {hyperv1.APIServer, hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: "localhost"}}, "spec.services[APIServer].servicePublishingStrategy.nodePort.address"},
		"NodePort without address":  {hyperv1.Konnectivity, hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{}}, "spec.services[Konnectivity].servicePublishingStrategy.nodePort.address"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			publish(o, c.service, c.how)
			_, problems := translated(o)
			i := slices.IndexFunc(problems, func(p problem.Problem) bool { return p.Reason == problem.PublishingUnsupported })
			g.Expect(i).To(BeNumerically(">=", 0))
			g.Expect(problems[i].Keys).To(ContainElement(c.field))
			g.Expect(problems[i].Blocks()).To(BeTrue())
		})
	}
}

// endpoint returns the endpoint of o with that name.
func endpoint(t *testing.T, o hcp.Objects, name string) network.Endpoint {
	t.Helper()
	request, problems := translated(o)
	for _, e := range request.Endpoints {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("no endpoint %s in %+v, problems %v", name, request.Endpoints, problems)
	return network.Endpoint{}
}

func TestKonnectivityByLoadBalancer(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	publish(o, hyperv1.Konnectivity, hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer})
	request, problems := translated(o)
	g.Expect(problems.Waiting()).To(BeTrue(), "the load balancer is not provisioned")
	g.Expect(request.Waiting).To(HaveExactElements("konnectivity-server"))
	g.Expect(slices.ContainsFunc(request.Endpoints, func(e network.Endpoint) bool { return e.Name == "konnectivity-server" })).To(BeFalse())

	for i := range o.Services {
		if o.Services[i].Name == "konnectivity-server" {
			o.Services[i].Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.240.0.230"}, {IP: "fd00::230"}}
		}
	}
	e := endpoint(t, o, "konnectivity-server")
	g.Expect(e.Addresses[0].String()).To(Equal("10.240.0.230"))
	g.Expect(e.Port).To(Equal(uint16(8091)))
	g.Expect(e.Match).To(Equal(network.MatchAny))
}

// TestAPIAtAnotherPort checks that the port of the endpoint can differ from the
// backend's.
func TestAPIAtAnotherPort(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.HostedCluster.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "api.example.com", Port: 7443}
	e := endpoint(t, o, "kube-apiserver")
	g.Expect(e.Port).To(Equal(uint16(7443)))
	g.Expect(e.Backend.Port).To(Equal(uint16(6443)))
}

// TestKubeAPIServerDNSName checks that the name is a host of the endpoint.
func TestKubeAPIServerDNSName(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.HostedCluster.Spec.KubeAPIServerDNSName = "kube.example.com"
	e := endpoint(t, o, "kube-apiserver")
	g.Expect(e.Hosts).To(Equal([]string{"kube.example.com"}))
	g.Expect(e.Addresses).To(HaveLen(1))
}

// TestNoOAuthUnderOIDC checks that a cluster with OIDC waits for no OAuth endpoint.
func TestNoOAuthUnderOIDC(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: &configv1.AuthenticationSpec{Type: configv1.AuthenticationTypeOIDC}}
	o.Routes = slices.DeleteFunc(o.Routes, func(r routev1.Route) bool { return r.Name == "oauth" })
	_, problems := translated(o)
	g.Expect(problems.Waiting()).To(BeFalse(), "%v", problems)
}

// TestFurtherPassthroughRoutes checks which further Routes are endpoints.
func TestFurtherPassthroughRoutes(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.Services = append(o.Services, corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "metrics-proxy"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}}})
	passthrough := &routev1.TLSConfig{Termination: routev1.TLSTerminationPassthrough}
	route := func(name string, spec routev1.RouteSpec) {
		spec.To.Name = "metrics-proxy"
		o.Routes = append(o.Routes, routev1.Route{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	}
	route("metrics-proxy", routev1.RouteSpec{Host: "metrics.example.com", TLS: passthrough})
	route("edge-terminated", routev1.RouteSpec{Host: "edge.example.com", TLS: &routev1.TLSConfig{Termination: routev1.TLSTerminationEdge}})
	route("wildcard", routev1.RouteSpec{Host: "https.apps.example.com", TLS: passthrough, WildcardPolicy: routev1.WildcardPolicySubdomain})
	request, _ := translated(o)
	var names []string
	for _, e := range request.Endpoints {
		names = append(names, e.Name)
	}
	g.Expect(names).To(ConsistOf("kube-apiserver", "ignition-server", "konnectivity-server", "oauth", "metrics-proxy"))
}

func TestAttachments(t *testing.T) {
	for name, c := range map[string]struct {
		config  string
		problem problem.Reason
		vlan    int
		edgeNAD string
	}{
		"bridge":             {config: `{"cniVersion":"0.3.1","name":"n","type":"bridge","bridge":"br1","vlan":7}`, vlan: 7, edgeNAD: `"type":"static"`},
		"cnv-bridge":         {config: `{"cniVersion":"0.3.1","name":"n","type":"cnv-bridge","bridge":"br1","vlan":8,"ipam":{}}`, vlan: 8, edgeNAD: `"capabilities":{"ips":true}`},
		"macvlan":            {config: `{"type":"macvlan","master":"bond0.9"}`, vlan: 9, edgeNAD: `"master":"bond0.9"`},
		"a list of plugins":  {config: `{"cniVersion":"0.4.0","name":"n","plugins":[{"type":"bridge","bridge":"br1"},{"type":"bandwidth"}]}`, edgeNAD: `"type":"bandwidth"`},
		"OVN localnet":       {config: `{"name":"n","type":"ovn-k8s-cni-overlay","topology":"localnet","netAttachDefName":"clusters/vlan100","vlanID":10}`, vlan: 10, edgeNAD: `"master":"link1"`},
		"OVN layer2":         {config: `{"name":"n","type":"ovn-k8s-cni-overlay","topology":"layer2","netAttachDefName":"clusters/vlan100"}`, edgeNAD: `"linkInContainer":true`},
		"OVN with subnets":   {config: `{"type":"ovn-k8s-cni-overlay","topology":"localnet","subnets":"10.0.0.0/24"}`, problem: problem.NetworkUnsupported},
		"OVN layer3":         {config: `{"type":"ovn-k8s-cni-overlay","topology":"layer3"}`, problem: problem.NetworkUnsupported},
		"bridge with IPAM":   {config: `{"type":"bridge","bridge":"br1","ipam":{"type":"whereabouts"}}`, problem: problem.NetworkUnsupported},
		"not JSON":           {config: `{`, problem: problem.NetworkUnsupported},
		"no type":            {config: `{}`, problem: problem.NetworkUnsupported},
		"a kind not served":  {config: `{"type":"ptp"}`, problem: problem.NetworkUnsupported},
		"an empty list":      {config: `{"plugins":[]}`, problem: problem.NetworkUnsupported},
		"a list of nonsense": {config: `{"plugins":[1]}`, problem: problem.NetworkUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.NetworkAttachmentDefinitions[0].Spec.Config = c.config
			request, problems := translated(o)
			if c.problem != "" {
				g.Expect(problems.Has(c.problem)).To(BeTrue())
				g.Expect(hasError(problems)).To(BeTrue(), "VMs boot from it")
				return
			}
			a := request.Networks[0].Attachment
			g.Expect(a.VLAN).To(Equal(c.vlan))
			g.Expect(a.EdgeNADConfig).To(And(ContainSubstring(c.edgeNAD), ContainSubstring("IFNAME.forwarding")), "a node is without CRI-O")
		})
	}
}

// TestForwardingIsSetUnlessCRIO checks that the edge NAD disables forwarding only if a runtime
// other than CRI-O is in use.
func TestForwardingIsSetUnlessCRIO(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	request, _ := translated(o)
	g.Expect(request.Networks[0].Attachment.EdgeNADConfig).To(ContainSubstring("IFNAME.forwarding"))
	o.Nodes[0].Status.NodeInfo.ContainerRuntimeVersion = "cri-o://1.33.0"
	registering := *o.Nodes[0].DeepCopy()
	registering.Status.NodeInfo.ContainerRuntimeVersion = ""
	o.Nodes = append(o.Nodes, registering)
	request, _ = translated(o)
	g.Expect(request.Networks[0].Attachment.EdgeNADConfig).NotTo(ContainSubstring("forwarding"))
	o.NetworkAttachmentDefinitions[0].Spec.Config = `{"name":"n","type":"ovn-k8s-cni-overlay","topology":"localnet","netAttachDefName":"clusters/vlan100"}`
	request, problems := translated(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
	g.Expect(request.Networks[0].Attachment.EdgeNADConfig).To(BeEmpty(), "an OVN localnet needs no edge NAD")
}

// TestSecondPrimaryNetworkWaits checks that a second network does not take the CIDR of
// the first, and that its own CIDR changes no other address.
func TestSecondPrimaryNetworkWaits(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	second := *o.NodePools[0].DeepCopy()
	second.Name = "aaa" // its name sorts first, but it is younger
	second.CreationTimestamp = metav1.NewTime(o.NodePools[0].CreationTimestamp.Add(1e9))
	second.Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: "clusters/vlan200"}}
	o.NodePools = append([]hyperv1.NodePool{second}, o.NodePools...)
	nad := *o.NetworkAttachmentDefinitions[0].DeepCopy()
	nad.Name = "vlan200"
	nad.Spec.Config = strings.ReplaceAll(nad.Spec.Config, "100", "200")
	o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, nad)

	before, _ := plan(o)
	waiting, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeFalse())
	g.Expect(problems.Has(problem.WaitingForNetwork)).To(BeTrue())
	g.Expect(waiting.Networks).To(HaveLen(1))
	g.Expect(waiting.Networks[0].Name).To(Equal("clusters.vlan100"))

	o.HostedCluster.Annotations[settings.Prefix+"cidr.aaa"] = "192.168.200.0/24"
	both, problems := plan(o)
	g.Expect(problems.Waiting()).To(BeFalse(), "%v", problems)
	g.Expect(both.Networks).To(HaveLen(2))
	g.Expect(both.Networks[0]).To(Equal(before.Networks[0]))
}

// TestPodNetworkFirst checks that machineNetwork does not apply to VMs with the default
// pod network.
func TestPodNetworkFirst(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	yes := true
	o.NodePools[0].Spec.Platform.Kubevirt.AttachDefaultNetwork = &yes
	p, problems := plan(o)
	g.Expect(problems).To(ContainElement(HaveField("Cause", problem.PodNetworkAttached)))
	g.Expect(problems.Waiting()).To(BeFalse())
	g.Expect(p.Networks).To(BeEmpty())
}

// given holds the input of Derive for one cluster.
type given struct {
	network.Request
	network.Facts
}

// translated returns the request and the facts of o, and the problems so far.
func translated(o hcp.Objects) (given, problem.Problems) {
	r, f := hcp.Translate(o, network.Plan{})
	return given{r, f}, f.Problems
}

// after derives the plan for in while last is in force.
func after(in given, last network.Plan) (network.Plan, problem.Problems) {
	d := derive.Derive(in.Request, in.Facts, last, nil)
	return d.Draft(), d.Problems
}

// derived derives the plan for in without a plan in force.
func derived(in given) (network.Plan, problem.Problems) { return after(in, network.Plan{}) }

// plan derives the plan for o without a plan in force.
func plan(o hcp.Objects) (network.Plan, problem.Problems) {
	in, _ := translated(o)
	return derived(in)
}

// TestBareNetworkName checks that a name without a namespace is in the control plane
// namespace.
func TestBareNetworkName(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks[0].Name = "vlan100"
	o.NetworkAttachmentDefinitions[0].Namespace = "clusters-blue"
	p, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
	g.Expect(p.Networks[0].Name).To(Equal("clusters-blue.vlan100"))
}

// hasError reports whether ps has an Error, confined or not.
func hasError(ps problem.Problems) bool { return len(ps.Of(problem.SeverityError)) > 0 }
