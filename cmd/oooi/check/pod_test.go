package check

import (
	"encoding/json"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// triedNetwork has a pool of four addresses.
func triedNetwork() network.Network {
	return network.Network{
		Name: "clusters.vlan100", Attachment: network.Attachment{Namespace: "clusters", Name: "vlan100", EdgeNADConfig: `{"type":"bridge","bridge":"br1","capabilities":{"ips":true},"ipam":{"type":"static"}}`},
		CIDR: netip.MustParsePrefix("192.168.100.0/24"), NextHopVIP: netip.MustParseAddr("192.168.100.2"),
		Edges: []network.Edge{{Number: 1, Address: netip.MustParseAddr("192.168.100.4")}},
		DHCP:  network.DHCP{Range: rangeOf("192.168.100.10", "192.168.100.13")},
	}
}

func rangeOf(first, last string) network.Range {
	return network.Range{First: netip.MustParseAddr(first), Last: netip.MustParseAddr(last)}
}

// TestAddressToTry: a pod takes no address that a host may have.
func TestAddressToTry(t *testing.T) {
	n := triedNetwork()
	at := func(last byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 168, 100, last}) }
	reserved := n
	reserved.DHCP.Reservations = []network.Reservation{{MAC: "02:00:00:00:00:01", Address: at(13)}}
	reserved.DHCP.Named = []netip.Addr{at(12)}
	excluded := n
	excluded.DHCP.Exclude = []network.Range{rangeOf("192.168.100.11", "192.168.100.13")}
	routed := n
	routed.DHCP.Router = at(1)
	narrow := n
	narrow.DHCP.Exclude = []network.Range{rangeOf("192.168.100.12", "192.168.100.13")}
	others := n
	others.DHCP = network.DHCP{}
	for name, c := range map[string]struct {
		n      network.Network
		asked  netip.Addr
		leased []netip.Addr
		want   netip.Addr
		err    string
	}{
		"the last":                {n: n, want: at(13)},
		"the last has a lease":    {n: n, leased: []netip.Addr{at(13), at(11)}, want: at(12)},
		"reserved, and a host's":  {n: reserved, want: at(11)},
		"excluded":                {n: narrow, want: at(11)},
		"one is left":             {n: excluded, err: "Only one address of the DHCP pool is free, and a VM may need it. Set another one of 192.168.100.0/24 with --address."},
		"all have leases":         {n: n, leased: []netip.Addr{at(10), at(11), at(12), at(13)}, err: "No address of 192.168.100.0/24 is known to be free. Set one with --address."},
		"DHCP is run by others":   {n: others, err: "No address of 192.168.100.0/24 is known to be free. Set one with --address."},
		"asked":                   {n: others, asked: at(200), want: at(200)},
		"asked, an edge's":        {n: others, asked: at(4), err: "--address 192.168.100.4 is not in 192.168.100.0/24, or belongs to a VM, an edge or a gateway on clusters/vlan100."},
		"asked, a VIP":            {n: others, asked: at(2), err: "--address 192.168.100.2 is not in 192.168.100.0/24, or belongs to a VM, an edge or a gateway on clusters/vlan100."},
		"asked, the gateway's":    {n: routed, asked: at(1), err: "--address 192.168.100.1 is not in 192.168.100.0/24, or belongs to a VM, an edge or a gateway on clusters/vlan100."},
		"asked, a VM's":           {n: others, asked: at(20), leased: []netip.Addr{at(20)}, err: "--address 192.168.100.20 is not in 192.168.100.0/24, or belongs to a VM, an edge or a gateway on clusters/vlan100."},
		"asked, of other network": {n: n, asked: netip.MustParseAddr("10.0.0.1"), err: "--address 10.0.0.1 is not in 192.168.100.0/24, or belongs to a VM, an edge or a gateway on clusters/vlan100."},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := addressToTry(c.n, c.asked, c.leased)
			if c.err != "" {
				g.Expect(err).To(MatchError(c.err))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(c.want))
		})
	}
}

// TestTryPod: it is confined as an edge is, has no token, and sends everything by the network.
func TestTryPod(t *testing.T) {
	g := NewWithT(t)
	yes := true
	confined := &corev1.SecurityContext{RunAsNonRoot: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	device := corev1.ResourceRequirements{Limits: corev1.ResourceList{"example.com/vf": {}}}
	edge := corev1.PodSpec{
		ServiceAccountName: wire.ServiceAccount, SecurityContext: &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}}},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull-secret"}},
		Containers: []corev1.Container{
			{Name: "dhcp", Image: "edge:1", Resources: device}, {Name: "envoy", Image: "envoy:1"}, {Name: wire.Failover, Image: "edge:1", SecurityContext: confined},
		},
	}
	plan := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: wire.PlanConfigMap, UID: "7"}}
	objects := tryObjects(triedNetwork(), netip.MustParseAddr("192.168.100.13"), plan, edge)
	g.Expect(objects).To(HaveLen(2))
	definition, p := objects[0].(*unstructured.Unstructured), objects[1].(*corev1.Pod)
	g.Expect(p.Namespace + "/" + p.Name).To(Equal("clusters-blue/oooi-try-clusters-vlan100"))
	for _, o := range objects {
		g.Expect(o.GetOwnerReferences()).To(ConsistOf(HaveField("UID", plan.UID)), "it goes with the plan")
	}
	g.Expect(p.Spec.ServiceAccountName).To(BeEmpty(), "it has no right of an edge")
	g.Expect(*p.Spec.AutomountServiceAccountToken).To(BeFalse())
	g.Expect(*p.Spec.ActiveDeadlineSeconds).To(BeEquivalentTo(180))
	g.Expect(p.Spec.SecurityContext).To(Equal(edge.SecurityContext))
	g.Expect(p.Spec.ImagePullSecrets).To(Equal(edge.ImagePullSecrets))
	g.Expect(p.Spec.Containers).To(HaveLen(1))
	c := p.Spec.Containers[0]
	g.Expect(c.Image).To(Equal("edge:1"))
	g.Expect(c.SecurityContext).To(Equal(confined))
	g.Expect(c.Resources).To(Equal(device), "the device of an SR-IOV network")
	var joined []map[string]any
	g.Expect(json.Unmarshal([]byte(p.Annotations[wire.AnnotationNetworks]), &joined)).To(Succeed())
	g.Expect(joined).To(Equal([]map[string]any{{
		"name": "oooi-try.clusters-vlan100", "namespace": "clusters-blue", "interface": "net1", "ips": []any{"192.168.100.13/24"},
	}}))
	g.Expect(definition.GetName()).To(Equal("oooi-try.clusters-vlan100"))
	g.Expect(definition.Object["spec"]).To(HaveKeyWithValue("config", MatchJSON(`{"type": "bridge", "bridge": "br1", "capabilities": {"ips": true}, "ipam": {"type": "static",
		"routes": [{"dst": "0.0.0.0/1", "gw": "192.168.100.2"}, {"dst": "128.0.0.0/1", "gw": "192.168.100.2"}]}}`)))

	n := triedNetwork()
	n.Attachment.EdgeNADConfig = "" // Of OVN-Kubernetes: the VMs' own NAD.
	objects = tryObjects(n, netip.MustParseAddr("192.168.100.13"), plan, edge)
	g.Expect(objects).To(HaveLen(1))
	g.Expect(objects[0].GetAnnotations()).To(HaveKeyWithValue(wire.AnnotationNetworks, MatchJSON(`[{"name": "vlan100", "namespace": "clusters",
		"interface": "net1", "ips": ["192.168.100.13/24"], "default-route": ["192.168.100.2"]}]`)))
}
