package check

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestMTU: VMs must not be told more than the network carries.
func TestMTU(t *testing.T) {
	of := func(told int, services ...network.Service) network.Network {
		return network.Network{Name: "clusters.vlan100", Attachment: network.Attachment{Namespace: "clusters", Name: "vlan100"},
			Services: services, Edges: []network.Edge{{Number: 1}, {Number: 2}}, DHCP: network.DHCP{MTU: told}}
	}
	for name, c := range map[string]struct {
		facts mtuFacts
		want  outcome
		why   string
	}{
		"all agree":                      {mtuFacts{of(9000, network.ServiceDHCP), 9000, map[int]int{1: 9000, 2: 9000}}, fine, ""},
		"VMs are told less":              {mtuFacts{of(1400, network.ServiceDHCP), 9000, map[int]int{1: 9000}}, fine, ""},
		"VMs are told nothing":           {mtuFacts{of(0, network.ServiceDHCP), 0, map[int]int{1: 1400}}, fine, ""},
		"Multus does not report it":      {mtuFacts{of(9000, network.ServiceDHCP), 9000, nil}, fine, ""},
		"the second edge has less":       {mtuFacts{of(9000, network.ServiceDHCP), 9000, map[int]int{1: 9000, 2: 1500}}, warning, "DHCP advertises 9000 bytes, but the interface of edge 2 has 1500. Larger packets are lost. Set annotation mtu to 1500, "},
		"the NAD was changed":            {mtuFacts{of(9000, network.ServiceDHCP), 1400, map[int]int{1: 9000}}, warning, "DHCP advertises 9000 bytes, but the NetworkAttachmentDefinition has 1400. Larger packets are lost. Set annotation mtu to 1400, "},
		"the edge has less than the NAD": {mtuFacts{of(1600, network.ServiceDHCP), 1400, map[int]int{1: 1500}}, warning, "the interface of edge 1 has 1500. Larger packets are lost. Set annotation mtu to 1400, "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, ok := mtuCheck(c.facts)
			g.Expect(ok).To(BeTrue())
			g.Expect(got.Verdict).To(Equal(c.want), got.Why)
			g.Expect(got.Why).To(ContainSubstring(c.why))
		})
	}
	_, ok := mtuCheck(mtuFacts{network: of(9000, network.ServiceDNS), nad: 1500})
	NewWithT(t).Expect(ok).To(BeFalse(), "the DHCP server of others tells the MTU")
}

// TestMTUNetworks: VMs have the MTU of the plan in force, and the next VM gets that of the current NAD.
func TestMTUNetworks(t *testing.T) {
	g := NewWithT(t)
	at := network.Attachment{Namespace: "clusters", Name: "vlan100", MTU: 1400}
	was := at
	was.MTU = 9000
	inForce := []network.Network{{Name: "clusters.vlan100", Attachment: was}}
	now := &plan.Planned{Request: network.Request{Networks: []network.NetworkRequest{{Attachment: at}}}, Plan: &network.Plan{Networks: []network.Network{{Name: "clusters.vlan100", Attachment: at}}}}
	links := map[string]map[int]int{wire.NetworkLabel("clusters.vlan100"): {1: 1500}}
	g.Expect(mtuNetworks(now, inForce, links)).To(Equal([]mtuFacts{{inForce[0], 1400, map[int]int{1: 1500}}}))
	g.Expect(mtuNetworks(now, nil, nil)).To(Equal([]mtuFacts{{now.Plan.Networks[0], 1400, nil}}), "before it runs")
	g.Expect(mtuNetworks(nil, inForce, nil)).To(Equal([]mtuFacts{{inForce[0], 0, nil}}))
	now.Problems = problem.Problems{problem.New(problem.MTUExceedsNAD, problem.Subject{}, nil)}
	g.Expect(mtuNetworks(now, inForce, nil)).To(BeEmpty(), "the problem of the plan has a line")
}

// TestMTUOfEndedPods: an evicted pod of an edge stays with the MTU that its node had.
func TestMTUOfEndedPods(t *testing.T) {
	pod := func(number, mtu int, phase corev1.PodPhase) corev1.Pod {
		p := podOfEdge(fmt.Sprintf(`[{"interface":"net1","mtu":%d}]`, mtu))
		p.Labels, p.Status.Phase = wire.EdgeLabels(network.Network{Name: "clusters.vlan100"}, network.Edge{Number: number}), phase
		return *p
	}
	going := pod(2, 1280, corev1.PodRunning)
	now := metav1.Now()
	going.DeletionTimestamp = &now
	api := nadReader{pods: []corev1.Pod{pod(1, 9000, corev1.PodRunning), pod(1, 1400, corev1.PodFailed), pod(2, 8000, corev1.PodPending), pod(2, 1400, corev1.PodSucceeded), going}}
	NewWithT(t).Expect(readLinks(t.Context(), api, "clusters-blue")).To(Equal(map[string]map[int]int{wire.NetworkLabel("clusters.vlan100"): {1: 9000, 2: 8000}}))
}

// TestMTUOfAPod: as Multus writes it.
func TestMTUOfAPod(t *testing.T) {
	for text, want := range map[string]int{
		`[{"name":"ovn","interface":"eth0","mtu":1400},{"name":"x","interface":"net1","mac":"02:00:00:00:00:01","mtu":9000}]`: 9000,
		`[{"name":"x","interface":"net1","mac":"02:00:00:00:00:01"}]`:                                                         0,
		`broken`: 0,
	} {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{wire.AnnotationNetworkStatus: text}}}
		NewWithT(t).Expect(edgeOfPod(p).mtu).To(Equal(want), text)
	}
}
