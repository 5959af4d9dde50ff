package network_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestPlansOfEveryFormat: a plan that an older version stored is read after an upgrade,
// with all services of its edges.
func TestPlansOfEveryFormat(t *testing.T) {
	all := []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy} // NTP came later.
	formats := map[string]func(Gomega, network.Plan){
		"0-without-services.json": func(g Gomega, p network.Plan) {
			g.Expect(p.Version).To(Equal(network.UnversionedPlan))
			g.Expect(p.Networks[0].Services).To(Equal(all), "edges ran all of them")
			g.Expect(p.Networks[0].PublishedAddresses).To(HaveExactElements(netip.MustParseAddr("10.240.0.200")))
		},
		"0-with-relays.json": func(g Gomega, p network.Plan) {
			g.Expect(p.Networks[0].Services).To(Equal(all))
			g.Expect(p.Networks[0].DHCP.Relays).To(HaveExactElements(netip.MustParseAddr("192.168.7.1")))
			g.Expect(p.Networks[0].Backends).To(HaveExactElements(HaveField("Kind", network.BackendPods)), "there were no others")
			g.Expect(p.Networks[1].Services).To(HaveExactElements(network.ServiceDHCP), "VMs get an address only")
		},
		"0-with-services.json": func(g Gomega, p network.Plan) {
			g.Expect(p.Networks[0].Services).To(HaveExactElements(network.ServiceDNS, network.ServiceProxy))
			g.Expect(p.Networks[0].DHCP.Range).To(BeZero(), "DHCP is not ours")
			g.Expect(p.Networks[0].Backends[1]).To(Equal(network.Backend{Kind: network.BackendExternal, Name: "quay.io:443", Host: "quay.io", Port: 443, HTTPProxy: "10.0.0.9:3128"}))
			g.Expect(p.Networks[0].ReservedDestinations).To(HaveExactElements(netip.MustParsePrefix("10.0.0.5/32"), netip.MustParsePrefix("10.128.0.0/14")), "nodes, too")
			g.Expect(p.Endpoints).To(HaveExactElements(HaveField("Name", "ignition-server")))
			g.Expect(p.Networks[0].Placement).To(BeZero(), "not decided in the plan then")
		},
		"1.json": func(g Gomega, p network.Plan) {
			g.Expect(p.Version).To(Equal(network.CurrentPlanVersion))
			g.Expect(p.Networks[0].Placement).To(Equal(network.Placement{
				NodeSelectors: []map[string]string{{"vlan100": "yes"}},
				Tolerations:   []network.Toleration{{Key: "infra", Operator: "Exists"}}, PriorityClass: "hypershift-api-critical"}))
			g.Expect(p.Networks[0].DHCP.ReservedForVMs).To(Equal(3))
			g.Expect(p.Networks[0].DHCP.Named).To(BeEmpty(), "added later")
		},
		"1-with-ntp.json": func(g Gomega, p network.Plan) {
			g.Expect(p.Version).To(Equal(network.CurrentPlanVersion))
			g.Expect(p.Networks[0].Services).To(Equal(network.AllServices()))
			g.Expect(p.Networks[0].TimeServers()).To(HaveExactElements(p.Networks[0].ServiceVIP))
		},
		"1-with-named.json": func(g Gomega, p network.Plan) {
			g.Expect(p.Version).To(Equal(network.CurrentPlanVersion))
			g.Expect(p.Networks[0].DHCP.Named).To(HaveExactElements(netip.MustParseAddr("192.168.100.77")))
			g.Expect(p.Networks[0].Backends[0].TargetPort).To(BeEquivalentTo(31443))
		},
	}
	files, err := os.ReadDir("testdata/plans")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(files).To(HaveLen(len(formats)), "each file is a format")
	for file, meant := range formats {
		t.Run(file, func(t *testing.T) {
			g := NewWithT(t)
			plan, err := network.ReadPlan(storedPlan(t, file))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(plan.Validate()).To(Succeed(), "an edge reads it too")
			g.Expect(plan.Networks[0].NextHopVIP).To(Equal(netip.MustParseAddr("192.168.100.2")))
			meant(g, plan)

			again, err := network.ReadPlan(plan.JSON())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(Equal(plan))

			in := asking(1, network.NetworkRequest{Attachment: plan.Networks[0].Attachment, Primary: true, CIDR: plan.Networks[0].CIDR})
			in.InUse = []string{plan.Networks[0].Name}
			now, problems := after(in, plan)
			g.Expect(problems).To(BeEmpty())
			g.Expect(now.Version).To(Equal(network.CurrentPlanVersion))
			g.Expect(pinned(now.Networks[0])).To(Equal(pinned(plan.Networks[0])), "its addresses stay after an upgrade")
		})
	}
}

// TestPlanOfANewerVersion: a plan of a newer version is an error. It is not read as a plan
// without networks, nor in part.
func TestPlanOfANewerVersion(t *testing.T) {
	g := NewWithT(t)
	newer := strings.Replace(string(storedPlan(t, "1.json")), `"version": 1`, `"version": 2`, 1)
	_, err := network.ReadPlan([]byte(newer))
	var is network.NewerPlanError
	g.Expect(errors.As(err, &is)).To(BeTrue())
	g.Expect(is.Version).To(BeEquivalentTo(2))
	g.Expect(err).To(MatchError(ContainSubstring("version 2")))
}

func TestWhatIsNoPlan(t *testing.T) {
	stored := string(storedPlan(t, "1.json"))
	for name, text := range map[string]string{
		"a number as text":   strings.Replace(stored, `"number": 1`, `"number": "1"`, 1),
		"nothing":            "{}",
		"a version as text":  strings.Replace(stored, `"version": 1`, `"version": "1"`, 1),
		"a negative version": strings.Replace(stored, `"version": 1`, `"version": -1`, 1),
	} {
		_, err := network.ReadPlan([]byte(text))
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("not a plan")), name)
	}
}

func storedPlan(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "plans", file))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
