package hcp_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

func passthrough(o *hcp.Objects, serviceExists bool) {
	yes := true
	o.HostedCluster.Spec.Platform.Kubevirt.BaseDomainPassthrough = &yes
	if serviceExists {
		o.Services = append(o.Services, corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "default-ingress-passthrough-service-" + o.HostedCluster.Spec.Platform.Kubevirt.GenerateID},
			Spec:       corev1.ServiceSpec{ClusterIP: "10.96.1.2", Ports: []corev1.ServicePort{{Name: "https-443", Port: 443, TargetPort: intstr.FromInt32(31443)}}},
		})
	}
}

func hostNetwork(o *hcp.Objects, port int32) {
	o.HostedIngress = &operatorv1.EndpointPublishingStrategy{Type: operatorv1.HostNetworkStrategyType, HostNetwork: &operatorv1.HostNetworkStrategy{HTTPSPort: port}}
}

func private(o *hcp.Objects) {
	o.HostedCluster.Annotations[hyperv1.PrivateIngressControllerAnnotation] = "true"
}

func publishedBy(of operatorv1.EndpointPublishingStrategyType) func(*hcp.Objects) {
	return func(o *hcp.Objects) { o.HostedIngress = &operatorv1.EndpointPublishingStrategy{Type: of} }
}

// An appsCase is a cluster, and the backend of its *.apps.
type appsCase struct {
	given func(*hcp.Objects)
	// backend of port 443. Nil: edges do not listen for it.
	backend *network.Backend
	// record is the address that *.apps resolves to. Empty: none.
	record  string
	problem problem.Reason
}

func (c appsCase) run(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	c.given(&o)
	request, problems := translated(o)
	i := slices.IndexFunc(request.Endpoints, func(e network.Endpoint) bool { return e.Origin == network.OriginApps })
	g.Expect(i >= 0).To(Equal(c.backend != nil))
	if i >= 0 {
		g.Expect(request.Endpoints[i].Backend).To(Equal(*c.backend))
		g.Expect(request.Endpoints[i].Hosts).To(HaveExactElements("*.apps.blue.example.com"))
	}
	for _, r := range []problem.Reason{problem.AppsUnreachable, problem.WaitingForEndpoint} {
		g.Expect(problems.Has(r)).To(Equal(r == c.problem), "%s: %v", r, problems)
	}
	if c.backend == nil {
		g.Expect(slices.Contains(request.Waiting, "apps")).To(Equal(c.problem == problem.WaitingForEndpoint))
	}
	p, _ := derived(request)
	var answered string
	for _, r := range p.Networks[0].DNS.Views[0].Records {
		if r.Name == "*.apps.blue.example.com" {
			answered = r.Addresses[0].String()
		}
	}
	g.Expect(answered).To(Equal(c.record))
}

// TestAppsBackend checks the precedence of the ways to serve *.apps.
func TestAppsBackend(t *testing.T) {
	viaService := network.Backend{Kind: network.BackendVMs, Name: "default-ingress-passthrough-service-plb4xffbdb:443", Service: "default-ingress-passthrough-service-plb4xffbdb", Port: 443, PortName: "https-443", TargetPort: 31443}
	viaNodes := network.Backend{Kind: network.BackendVMs, Name: "vms:443", Port: 443}
	for name, c := range map[string]appsCase{
		"unreachable":                  {func(o *hcp.Objects) {}, nil, "", problem.AppsUnreachable},
		"an annotation":                {func(o *hcp.Objects) { annotate(o, "apps-address", "192.168.100.6") }, nil, "192.168.100.6", ""},
		"a record":                     {func(o *hcp.Objects) { annotate(o, "dns-records", "*.Apps.blue.example.com=192.168.100.6") }, nil, "192.168.100.6", ""},
		"passthrough":                  {func(o *hcp.Objects) { passthrough(o, true) }, &viaService, "192.168.100.3", ""},
		"passthrough, Service missing": {func(o *hcp.Objects) { passthrough(o, false) }, nil, "", problem.WaitingForEndpoint},
		"the nodes' own port":          {func(o *hcp.Objects) { hostNetwork(o, 0) }, &viaNodes, "192.168.100.3", ""},
		"the nodes' own port, chosen":  {func(o *hcp.Objects) { hostNetwork(o, 8443) }, &network.Backend{Kind: network.BackendVMs, Name: "vms:8443", Port: 8443}, "192.168.100.3", ""},
		"an annotation wins": {func(o *hcp.Objects) {
			passthrough(o, true)
			hostNetwork(o, 0)
			annotate(o, "apps-address", "192.168.100.6")
		}, nil, "192.168.100.6", ""},
		"passthrough wins": {func(o *hcp.Objects) { passthrough(o, true); hostNetwork(o, 0); withRouter(o, "192.168.100.80") }, &viaService, "192.168.100.3", ""},
		"no ingress": {func(o *hcp.Objects) {
			o.HostedCluster.Spec.Capabilities = &hyperv1.Capabilities{Disabled: []hyperv1.OptionalCapability{hyperv1.IngressCapability}}
			passthrough(o, true)
		}, nil, "", ""},
		"no base domain, and no passthrough": {func(o *hcp.Objects) {
			o.HostedCluster.Spec.DNS.BaseDomain = ""
			o.HostedCluster.Spec.Platform.Kubevirt.BaseDomainPassthrough = new(bool)
		}, nil, "", problem.AppsUnreachable},
		"base domain pending": {func(o *hcp.Objects) { o.HostedCluster.Spec.DNS.BaseDomain = ""; passthrough(o, true) }, nil, "", problem.WaitingForEndpoint},
	} {
		t.Run(name, c.run)
	}
}

// TestAppsServicePort: by default, the ingress has a node port. A target port outside the range of these is a mistake, such as 443,
// which Kubernetes sets if the user sets none. If only the default says that the ingress has one, it is a hint.
func TestAppsServicePort(t *testing.T) {
	to := func(port int32) change {
		return func(o *hcp.Objects) {
			withDocumented(o)
			o.Services[len(o.Services)-1].Spec.Ports[0].TargetPort = intstr.FromInt32(port)
		}
	}
	within := func(text string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Network: &configv1.NetworkSpec{ServiceNodePortRange: text}}
		}
	}
	explicit := change(publishedBy(operatorv1.NodePortServiceStrategyType))
	for name, c := range map[string]struct {
		given []change
		want  problem.Severity
	}{
		"a node port":                    {given: []change{to(32443), explicit}},
		"no target port":                 {[]change{to(443)}, problem.SeverityInfo},
		"the same, with type NodePort":   {[]change{to(443), explicit}, problem.SeverityWarning},
		"below the range":                {[]change{to(29999), explicit}, problem.SeverityWarning},
		"above the range":                {[]change{to(32768), explicit}, problem.SeverityWarning},
		"in the range of the user":       {given: []change{to(29999), explicit, within("29000-29999")}},
		"below the range of the user":    {[]change{to(32443), explicit, within("32500-32700")}, problem.SeverityWarning},
		"an invalid range":               {given: []change{to(443), explicit, within("x")}},
		"type HostNetwork":               {given: []change{to(443), func(o *hcp.Objects) { hostNetwork(o, 443) }}},
		"passthrough":                    {given: []change{to(443), explicit, func(o *hcp.Objects) { passthrough(o, true) }}},
		"a load balancer in the cluster": {given: []change{to(443), ofLoadBalancer, func(o *hcp.Objects) { withRouter(o, "192.168.100.80") }}},
		"an address of the user":         {given: []change{to(443), explicit, annotated(network.KeyAppsAddress, "192.168.100.6")}},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			for _, change := range c.given {
				change(&o)
			}
			_, ps := plan(o)
			found := causesOf(ps, "IngressPortIsNoNodePort")
			if c.want == "" {
				g.Expect(found).To(BeEmpty())
				return
			}
			g.Expect(found).To(HaveExactElements(HaveField("Severity", c.want)))
		})
	}
}

// TestPassthroughIneffective: HyperShift's Route is for the default domain, and its Service has a node port of the ingress. VMs are served nevertheless.
func TestPassthroughIneffective(t *testing.T) {
	prefix := func(of string) func(*hcp.Objects) {
		return func(o *hcp.Objects) { o.HostedCluster.Spec.DNS.BaseDomainPrefix = &of }
	}
	domain := func(of configv1.IngressSpec) func(*hcp.Objects) {
		return func(o *hcp.Objects) { o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Ingress: &of} }
	}
	for name, c := range map[string]struct {
		service bool
		given   func(*hcp.Objects)
		want    string
	}{
		"the defaults":                   {true, func(*hcp.Objects) {}, ""},
		"a prefix":                       {true, prefix("prod"), "spec.dns.baseDomainPrefix"},
		"no prefix":                      {true, prefix(""), "spec.dns.baseDomainPrefix"},
		"the cluster's name as a prefix": {true, prefix("blue"), ""},
		"a domain":                       {true, domain(configv1.IngressSpec{Domain: "apps.example.com"}), "spec.configuration.ingress"},
		"the default domain":             {true, domain(configv1.IngressSpec{Domain: "apps.blue.example.com"}), ""},
		"a domain for Routes of users":   {true, domain(configv1.IngressSpec{Domain: "apps.blue.example.com", AppsDomain: "apps.example.com"}), "spec.configuration.ingress"},
		"ports of nodes":                 {false, func(o *hcp.Objects) { hostNetwork(o, 0) }, "spec.operatorConfiguration.ingressOperator"},
		"a load balancer":                {false, publishedBy(operatorv1.LoadBalancerServiceStrategyType), "spec.operatorConfiguration.ingressOperator"},
		"a private ingress":              {false, publishedBy(operatorv1.PrivateStrategyType), "spec.operatorConfiguration.ingressOperator"},
		"the annotation for one":         {false, private, "annotation hypershift.openshift.io/private-ingress-controller"},
		"the annotation, set later":      {true, private, ""},
		"a node port":                    {false, publishedBy(operatorv1.NodePortServiceStrategyType), ""},
		"ports of nodes, set later":      {true, func(o *hcp.Objects) { hostNetwork(o, 0) }, ""},
		"no passthrough": {false, func(o *hcp.Objects) {
			prefix("prod")(o)
			*o.HostedCluster.Spec.Platform.Kubevirt.BaseDomainPassthrough = false
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			passthrough(&o, c.service)
			c.given(&o)
			_, problems := translated(o)
			all := causesOf(problems, problem.PassthroughIneffective)
			if c.service {
				g.Expect(causesOf(problems, problem.IngressPrivate)).To(BeEmpty(), "HyperShift's Service shows a node port")
			}
			if c.want == "" {
				g.Expect(all).To(BeEmpty())
				return
			}
			g.Expect(all).To(HaveExactElements(HaveField("Args", HaveKeyWithValue("field", problem.Values{c.want}))))
		})
	}
}

// TestPassthroughRouteRefused: a router that admits no wildcards keeps browsers outside from the console, and HyperShift does not say it.
func TestPassthroughRouteRefused(t *testing.T) {
	admitted := func(status corev1.ConditionStatus) routev1.RouteIngress {
		return routev1.RouteIngress{RouterName: "default", Conditions: []routev1.RouteIngressCondition{{Type: routev1.RouteAdmitted, Status: status}}}
	}
	for name, c := range map[string]struct {
		status []routev1.RouteIngress
		want   int
	}{
		"no router yet":                      {nil, 0},
		"admitted":                           {[]routev1.RouteIngress{admitted(corev1.ConditionTrue)}, 0},
		"refused":                            {[]routev1.RouteIngress{admitted(corev1.ConditionFalse)}, 1},
		"admitted by the second of routers":  {[]routev1.RouteIngress{admitted(corev1.ConditionFalse), admitted(corev1.ConditionTrue)}, 0},
		"undecided, such as by a new router": {[]routev1.RouteIngress{admitted(corev1.ConditionUnknown)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			passthrough(&o, true)
			route := routev1.Route{Status: routev1.RouteStatus{Ingress: c.status}}
			route.Name = "default-ingress-passthrough-route-" + o.HostedCluster.Spec.Platform.Kubevirt.GenerateID
			o.Routes = append(o.Routes, route)
			_, problems := translated(asCached(t, o))
			g.Expect(causesOf(problems, problem.PassthroughRouteRefused)).To(HaveLen(c.want))
		})
	}
}

// TestAppsOfOtherDNSServers: if edges forward to other DNS servers, these may resolve *.apps, so oooi only gives a hint.
func TestAppsOfOtherDNSServers(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*hcp.Objects)
		want  problem.Severity
	}{
		"isolated":                       {func(o *hcp.Objects) {}, problem.SeverityWarning},
		"a gateway":                      {func(o *hcp.Objects) { annotate(o, "gateway", "192.168.100.1") }, problem.SeverityInfo},
		"a DNS server":                   {func(o *hcp.Objects) { annotate(o, "dns-upstreams", "192.168.100.53") }, problem.SeverityInfo},
		"a DNS server of others":         {func(o *hcp.Objects) { annotate(o, "services", "dhcp,proxy") }, problem.SeverityInfo},
		"a gateway, and no other server": {func(o *hcp.Objects) { annotate(o, "gateway", "192.168.100.1"); annotate(o, "dns-upstreams", "none") }, problem.SeverityWarning},
	} {
		t.Run(name, func(t *testing.T) {
			o := served(t)
			c.given(&o)
			_, problems := plan(o)
			NewWithT(t).Expect(problems).To(ContainElement(And(HaveField("Reason", problem.AppsUnreachable), HaveField("Severity", c.want))))
		})
	}
}

func annotate(o *hcp.Objects, key, value string) {
	o.HostedCluster.Annotations[settings.Prefix+key] = value
}

// TestHostedIngress checks that the field is read from the object's text.
func TestHostedIngress(t *testing.T) {
	g := NewWithT(t)
	d := &files.Dump{}
	g.Expect(d.Add([]byte("apiVersion: hypershift.openshift.io/v1beta1\nkind: HostedCluster\nmetadata: {name: b, namespace: a}\n---\napiVersion: hypershift.openshift.io/v1beta1\nkind: HostedCluster\nmetadata: {name: a, namespace: a}\nspec: {operatorConfiguration: {ingressOperator: {endpointPublishingStrategy: {type: HostNetwork}}}}"))).To(Succeed())
	g.Expect(d.Clusters()[0].HostedIngress).To(HaveField("Type", operatorv1.HostNetworkStrategyType))
	g.Expect(d.Clusters()[1].HostedIngress).To(BeNil())
}

// TestRefusedIngressDomain: names are the same in capital letters, but the OpenShift API server of the hosted cluster refuses the domain. Pods find no names below
// cluster.local but Services.
func TestRefusedIngressDomain(t *testing.T) {
	in := func(domain, apps string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Ingress: &configv1.IngressSpec{Domain: domain, AppsDomain: apps}}
		}
	}
	for name, c := range map[string]struct {
		given change
		want  problem.Cause
	}{
		"small letters":       {in("", ""), ""},
		"the base domain":     {func(o *hcp.Objects) { o.HostedCluster.Spec.DNS.BaseDomain = "Example.com" }, problem.IngressDomainCapital},
		"domain":              {in("Apps.example.com", ""), problem.IngressDomainCapital},
		"appsDomain in place": {in("Apps.example.com", "apps.example.com"), ""},
		"no ingress": {func(o *hcp.Objects) {
			o.HostedCluster.Spec.DNS.BaseDomain = "Example.com"
			o.HostedCluster.Spec.Capabilities = &hyperv1.Capabilities{Disabled: []hyperv1.OptionalCapability{hyperv1.IngressCapability}}
		}, problem.IngressDomainCapital},
		"below the domain of Services": {in("apps.blue.Cluster.local", ""), problem.IngressDomainInside},
		"a domain that looks like it":  {in("apps.bluecluster.local", ""), ""},
		"no base domain yet":           {func(o *hcp.Objects) { o.HostedCluster.Spec.DNS.BaseDomain = "" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			c.given(&o)
			_, ps := translated(o)
			if found := causesOf(ps, problem.IngressDomainCapital, problem.IngressDomainInside); c.want == "" {
				g.Expect(found).To(BeEmpty())
			} else {
				g.Expect(found).To(HaveExactElements(HaveField("Cause", c.want)))
			}
		})
	}
}
