package derive_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// backed is an endpoint at host:port in front of a Service with that port and address.
func backed(name, host string, port, servicePort uint16, clusterIP string) network.Endpoint {
	e := named(name, host, port, network.MatchAny)
	e.Backend = network.Backend{Name: name, Service: name, Port: servicePort}
	if clusterIP != "" {
		e.Backend.ClusterIP = netip.MustParseAddr(clusterIP)
	}
	return e
}

// inPods is a record of one address.
func inPods(name, address string) network.Record {
	return network.Record{Name: name, Addresses: []netip.Addr{netip.MustParseAddr(address)}}
}

// TestNamesForPods: pods get a name only where its ClusterIP answers at every published port.
func TestNamesForPods(t *testing.T) {
	api := backed("kube-apiserver", "API.blue.example.com.", 6443, 6443, "10.96.0.10")
	second := api
	second.Hosts = append(second.Hosts, "api.corp.example.com")
	vms := backed("apps", "console.example.com", 443, 443, "10.96.0.30")
	vms.Backend.Kind = network.BackendVMs
	for what, c := range map[string]struct {
		endpoints []network.Endpoint
		want      []network.Record
	}{
		"the API server":               {[]network.Endpoint{api}, []network.Record{inPods("api.blue.example.com", "10.96.0.10")}},
		"two names of it":              {[]network.Endpoint{second}, []network.Record{inPods("api.blue.example.com", "10.96.0.10"), inPods("api.corp.example.com", "10.96.0.10")}},
		"another port":                 {[]network.Endpoint{backed("oauth", "oauth.example.com", 443, 6443, "10.96.0.20")}, nil},
		"a Service without ClusterIP":  {[]network.Endpoint{backed("kube-apiserver", "api.example.com", 6443, 6443, "")}, nil},
		"no name":                      {[]network.Endpoint{{Name: "a", Port: 1, Match: network.MatchAny, Backend: api.Backend}}, nil},
		"VMs behind it":                {[]network.Endpoint{vms}, nil},
		"a wildcard":                   {[]network.Endpoint{backed("git", "*.example.com", 443, 443, "10.96.0.40")}, nil},
		"two ports of one Service":     {[]network.Endpoint{backed("git", "git.example.com", 443, 443, "10.96.0.40"), backed("git", "git.example.com", 22, 22, "10.96.0.40")}, []network.Record{inPods("git.example.com", "10.96.0.40")}},
		"one of two ports":             {[]network.Endpoint{backed("git", "git.example.com", 443, 8080, "10.96.0.40"), backed("git", "git.example.com", 22, 22, "10.96.0.40")}, nil},
		"two Services":                 {[]network.Endpoint{backed("git", "git.example.com", 443, 443, "10.96.0.40"), backed("ssh", "git.example.com", 22, 22, "10.96.0.41")}, nil},
		"three Services":               {[]network.Endpoint{backed("a", "git.example.com", 1, 1, "10.96.0.40"), backed("b", "git.example.com", 2, 2, "10.96.0.41"), backed("c", "git.example.com", 3, 3, "10.96.0.40")}, nil},
		"a name whose address is set":  {[]network.Endpoint{backed("git", "set.example.com", 443, 443, "10.96.0.40")}, nil},
		"nothing that is published at": {nil, nil},
		"a Service of the user that takes the API server's name": {
			[]network.Endpoint{byAnnotation(backed("git", "api.blue.example.com", 22, 22, "10.96.0.40")), api}, []network.Record{inPods("api.blue.example.com", "10.96.0.10")},
		},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			s := onVLAN("b", "10.1.0.0/24", "cidr")
			s.Settings.Records = []network.Record{inPods("Set.example.com", "192.168.100.50")}
			in := serving(c.endpoints...)
			in.Networks = append(in.Networks, s)
			off, _ := derived(in)
			g.Expect(off.AnswersPods()).To(BeFalse(), "security by default")

			in.ManagementDNS = true
			plan, problems := derived(in)
			g.Expect(problems).NotTo(ContainElement(HaveField("Severity", problem.SeverityError)))
			g.Expect(plan.Validate()).To(Succeed())
			g.Expect(plan.Networks).To(HaveLen(2))
			for i, n := range plan.Networks {
				g.Expect(n.AnswersPods()).To(BeTrue())
				g.Expect(n.DNS.Pods.Records).To(Equal(c.want), "the same on both networks")
				g.Expect(n.DNS.Views).To(Equal(off.Networks[i].DNS.Views), "VMs get what they got")
			}
		})
	}
}

// byAnnotation is e as an annotation on a Service publishes it.
func byAnnotation(e network.Endpoint) network.Endpoint {
	e.Origin = network.OriginService
	return e
}

// TestNamesForPodsEnd: pods no longer get the address of a missing Service, because another Service may have it. VMs keep the name.
// Networks without DNS answer no pods. On a retained network, names for pods end with the annotation.
func TestNamesForPodsEnd(t *testing.T) {
	g := NewWithT(t)
	in := serving(backed("kube-apiserver", "api.example.com", 6443, 6443, "10.96.0.10"))
	in.ManagementDNS, in.Wanted = true, []string{"clusters.vlan100"}
	plan, _ := derived(in)
	want := []network.Record{inPods("api.example.com", "10.96.0.10")}
	g.Expect(plan.Networks[0].DNS.Pods.Records).To(Equal(want))

	missing := in
	missing.Endpoints, missing.Waiting = nil, []string{"kube-apiserver"}
	after1, _ := after(missing, plan)
	g.Expect(after1.AnswersPods()).To(BeTrue())
	g.Expect(after1.Networks[0].DNS.Pods.Records).To(BeEmpty())
	g.Expect(after1.Networks[0].DNS.Views).To(Equal(plan.Networks[0].DNS.Views), "VMs have the last known good state")

	retained := missing
	retained.Networks = nil
	after2, _ := after(retained, plan)
	g.Expect(after2.Networks).To(HaveLen(1), "it is wanted, and cannot be decided")
	g.Expect(after2.AnswersPods()).To(BeTrue())
	retained.ManagementDNS = false
	after2, _ = after(retained, plan)
	g.Expect(after2.Networks).To(HaveLen(1))
	g.Expect(after2.AnswersPods()).To(BeFalse())

	without := in
	without.Networks = append([]network.NetworkRequest(nil), in.Networks...)
	without.Networks[0].Settings.Services = []network.Service{network.ServiceDHCP, network.ServiceProxy}
	plan, _ = derived(without)
	g.Expect(plan.AnswersPods()).To(BeFalse())
	g.Expect(plan.Validate()).To(Succeed())
}
