package hcp_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
)

// TestReservedDestinations checks the destinations of each kind of object. The order of
// objects does not matter, and invalid values are ignored.
func TestReservedDestinations(t *testing.T) {
	g := NewWithT(t)
	story := golden.Find(t, "lb-ip")
	dump := &files.Dump{}
	g.Expect(dump.Add(story.Read(t, "objects.yaml"))).To(Succeed())
	o := dump.Clusters()[0]
	node := func(name, address, annotation string, pods ...string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"k8s.ovn.org/node-subnets": annotation}},
			Spec:   corev1.NodeSpec{PodCIDRs: pods},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: address}}}}
	}
	o.Nodes = []corev1.Node{
		node("d", "fd00::1", "{", "fd01::/64"),
		node("c", "10.0.0.3", `{"default":"10.130.0.0/23"}`),
		node("b", "10.0.0.2", `{"default":["10.129.0.0/23","fd01:0:0:2::/64"],"blue":["192.168.7.0/24"]}`),
		node("a", "10.0.0.1", "", "10.244.0.0/24", "fd02::/64"),
	}
	o.Nodes[1].Annotations["k8s.ovn.org/host-cidrs"] = `["10.0.0.3/24","198.51.100.3/28","fd00::3/64","x"]`
	o.Management = management.Cluster{Resolvers: []netip.Addr{netip.MustParseAddr("172.30.0.10"), netip.MustParseAddr("fd00::a")}, APIServers: []netip.Addr{netip.MustParseAddr("172.30.0.1")}}
	reserved := func() []string {
		in, _ := translated(o)
		var out []string
		for _, p := range in.Reserved {
			if p.Node != (p.Prefix.IsSingleIP() && p.What[:4] == "node") {
				t.Errorf("%+v", p)
			}
			out = append(out, p.What+" "+p.Prefix.String())
		}
		return out
	}
	first := reserved()
	g.Expect(first).To(ContainElements(
		"node a 10.0.0.1/32", "node b 10.0.0.2/32", "node c 10.0.0.3/32", "node c 198.51.100.3/32",
		"the pods of node a 10.244.0.0/24", "the pods of node b 10.129.0.0/23", "the pods of node c 10.130.0.0/23",
		"the management cluster's resolver 172.30.0.10/32", "the management cluster's API server 172.30.0.1/32",
		"Service kube-apiserver 10.96.124.130/32"))
	g.Expect(first).NotTo(ContainElement(ContainSubstring(":")), "edges use only IPv4")
	g.Expect(first).NotTo(ContainElement(ContainSubstring("192.168.7")), "edges do not use secondary networks of pods")
	slices.Reverse(o.Nodes)
	g.Expect(reserved()).To(Equal(first))

	o.Nodes[0].Status.Addresses[1].Address = "192.168.100.77"
	in, _ := translated(o)
	_, problems := derived(in)
	g.Expect(problems).To(ContainElement(And(HaveField("Reason", problem.AddressConflict), WithTransform(message, ContainSubstring("node a (192.168.100.77)")))))
}

// TestManagementClusterInFiles checks that files with the objects give the plan that the operator makes: edges have HyperShift's
// PriorityClass, and where OpenShift's network operator makes Multus isolate namespaces, an annotation permits no NAD of another one.
func TestManagementClusterInFiles(t *testing.T) {
	g := NewWithT(t)
	story := strings.ReplaceAll(string(golden.Find(t, "lb-ip").Read(t, "objects.yaml")), "kind: VirtualMachineInstance\n", "kind: Other\n")
	const class = "\n---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: %s}\nvalue: 1\n"
	planOf := func(more string) (network.Plan, problem.Problems) {
		dump := &files.Dump{}
		g.Expect(dump.Add([]byte(story + more))).To(Succeed())
		return plan(dump.Clusters()[0])
	}
	for more, want := range map[string]string{"": "", fmt.Sprintf(class, "other"): "", fmt.Sprintf(class, "hypershift-api-critical"): "hypershift-api-critical"} {
		p, problems := planOf(more)
		g.Expect(problems).NotTo(ContainElement(HaveField("Cause", problem.NADNamespaceIsolated)))
		g.Expect(p.Networks[0].Placement.PriorityClass).To(Equal(want), more)
	}
	about := func(more string) (out []problem.Cause) {
		_, problems := planOf(more)
		for _, p := range problems {
			if p.Reason == problem.NADNamespaceNotAllowed {
				out = append(out, p.Cause)
			}
		}
		return out
	}
	const node = "\n---\napiVersion: v1\nkind: Node\nmetadata: {name: extra, labels: {%s}}\n"
	g.Expect(about("\n---\napiVersion: operator.openshift.io/v1\nkind: Network\nmetadata: {name: cluster}\n")).To(HaveExactElements(problem.NADNamespaceIsolated))
	g.Expect(about(fmt.Sprintf(node, "node.openshift.io/os_id: rhcos"))).To(HaveExactElements(problem.NADNamespaceIsolated), "a node of OpenShift")
	g.Expect(about("")).To(BeEmpty(), "nodes of another cluster")
	story = strings.ReplaceAll(story, "kind: Node\n", "kind: Other\n")
	g.Expect(about("")).To(HaveExactElements(problem.NADNamespaceDiffers), "an assumption is said")
}

// TestPodsOfTheControlPlane checks that a CIDR over pods behind the control plane's Services is refused,
// on a cluster whose nodes name no pod networks.
func TestPodsOfTheControlPlane(t *testing.T) {
	g := NewWithT(t)
	objects := string(golden.Find(t, "lb-ip").Read(t, "objects.yaml"))
	slice := func(namespace, kind, address string) string {
		return "\n---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: kube-apiserver-x, namespace: " + namespace + "}\naddressType: IPv4\n" +
			"endpoints: [{addresses: [" + address + "], targetRef: {kind: " + kind + ", name: a}}]\n"
	}
	problems := func(more string) problem.Problems {
		dump := &files.Dump{}
		g.Expect(dump.Add([]byte(objects + more))).To(Succeed())
		_, problems := plan(dump.Clusters()[0])
		return problems
	}
	g.Expect(problems(slice("clusters-blue", "Pod", "192.168.100.77"))).To(ContainElement(And(HaveField("Cause", problem.CIDROverlapsOther),
		HaveField("Blocks()", true), WithTransform(message, ContainSubstring("a pod of the control plane (192.168.100.77)")))))
	for _, more := range []string{"", slice("clusters-blue", "Pod", "10.128.0.9"), slice("clusters-green", "Pod", "192.168.100.77"), slice("clusters-blue", "VirtualMachineInstance", "192.168.100.77")} {
		g.Expect(problems(more)).NotTo(ContainElement(HaveField("Cause", problem.CIDROverlapsOther)))
	}
}

// TestPodOnTheHostNetwork checks that a pod that has its node's address does not refuse node ports
// published at that address, while a CIDR over it is refused still.
func TestPodOnTheHostNetwork(t *testing.T) {
	g := NewWithT(t)
	dump := &files.Dump{}
	g.Expect(dump.Add(golden.Find(t, "nodeport").Read(t, "objects.yaml"))).To(Succeed())
	o := dump.Clusters()[0]
	address := netip.MustParseAddr(o.Nodes[0].Status.Addresses[0].Address)
	before, _ := plan(o)
	g.Expect(before.Networks[0].PublishedAddresses).To(ContainElement(address))

	o.Pods = []netip.Addr{address}
	after, problems := plan(o)
	g.Expect(problems).NotTo(ContainElement(HaveField("Cause", problem.PublishedInOther)))
	g.Expect(after).To(Equal(before))

	o.Nodes[0].Status.Addresses[0].Address, o.Pods = "192.168.100.77", []netip.Addr{netip.MustParseAddr("192.168.100.77")}
	_, problems = plan(o)
	g.Expect(problems).To(ContainElement(HaveField("Cause", problem.CIDROverlapsOther)))
}
