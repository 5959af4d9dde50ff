package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
)

// TestWhoReachesWhat: the table of docs/publish.md has what the plan of each strategy's story serves, and where HyperShift publishes there.
func TestWhoReachesWhat(t *testing.T) {
	g := NewWithT(t)
	page := readPage(t, "publish.md")
	row := func(of string, cells ...string) {
		g.Expect(page).To(ContainSubstring("\n| " + of + " | " + strings.Join(cells, " | ") + " |\n"))
	}
	var api, others, behind, apiOutside, loginOutside []string
	for _, story := range []string{"lb-ip", "lb-name", "route", "nodeport"} {
		o := storyObjects(t, story)
		request, facts := hcp.Translate(o, network.Plan{})
		plan, ok := derive.Derive(request, facts, network.Plan{}, nil).Plan()
		g.Expect(ok).To(BeTrue(), story)
		served := map[string]string{}
		for _, e := range plan.Endpoints {
			served[e.Name] = placeOf(e)
		}
		api = append(api, served["kube-apiserver"])
		g.Expect(served["ignition-server"]).To(And(Equal(served["oauth"]), Equal(served["konnectivity-server"])), story)
		others = append(others, plural(served["oauth"]))
		behind = append(behind, throughRouter(served["kube-apiserver"], served["oauth"]))
		apiOutside, loginOutside = append(apiOutside, outsideAPI(o)), append(loginOutside, outsideOAuth(story, o))
	}
	row("VMs, to the API server", api...)
	row("clients behind the router of the VLAN", behind...)
	row("VMs, to OAuth, Ignition and konnectivity", others...)
	row("clients outside, to the API server", apiOutside...)
	row("clients outside, to OAuth", loginOutside...)
}

// storyObjects is the world of a story.
func storyObjects(t *testing.T, name string) objects.Objects {
	t.Helper()
	d := &files.Dump{}
	NewWithT(t).Expect(d.Add(golden.Find(t, name).Read(t, "objects.yaml"))).To(Succeed())
	return d.Clusters()[0]
}

// placeOf is what VMs dial for e, in the words of the page.
func placeOf(e network.Endpoint) string {
	kind, port := "name", fmt.Sprintf("port %d", e.Port)
	if len(e.Addresses) > 0 {
		kind = "address"
	}
	if e.Port >= 30000 {
		port = "node port"
	}
	return kind + ", " + port
}

// throughRouter is what clients need whose router leads to the VLAN, to reach the API server and OAuth at these places.
func throughRouter(api, oauth string) string {
	const vms, route, names = "the same as VMs, with ", "[a route](clients.md#through-the-router) to the address", "DNS for the names"
	switch isName := func(place string) bool { return strings.HasPrefix(place, "name") }; {
	case isName(api):
		return vms + names
	case isName(oauth):
		return vms + route + ", and " + names
	}
	return vms + route
}

func plural(place string) string {
	return strings.NewReplacer("name,", "names,", "node port", "node ports").Replace(place)
}

// outsideAPI is where HyperShift publishes the API server of o.
func outsideAPI(o objects.Objects) string {
	for _, s := range o.Services {
		switch {
		case s.Name == "kube-apiserver" && s.Spec.Type == corev1.ServiceTypeLoadBalancer:
			return "the load balancer"
		case s.Name == "kube-apiserver" && s.Spec.Type == corev1.ServiceTypeNodePort:
			return "the management node"
		}
	}
	return atRouter(o, "kube-apiserver")
}

// outsideOAuth is where HyperShift publishes OAuth of o. With an API server behind a load balancer with a name, it depends on HyperShift's
// version (LabelHCPRoutes in support/netutil/visibility.go) which router admits the Route: its status names one.
func outsideOAuth(story string, o objects.Objects) string {
	at := atRouter(o, "oauth")
	if story == "lb-name" && at != "the management node" {
		return "the router that admits the Route"
	}
	return at
}

// atRouter is the router that serves a Route of o: HyperShift's own if it made one.
func atRouter(o objects.Objects, name string) string {
	switch {
	case !slices.ContainsFunc(o.Routes, func(r routev1.Route) bool { return r.Name == name }):
		return "the management node"
	case slices.ContainsFunc(o.Services, func(s corev1.Service) bool { return s.Name == "router" }):
		return "HyperShift's router"
	}
	return "the management cluster's router"
}
