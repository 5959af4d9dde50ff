package controllers

import (
	"net/netip"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/apiserver"
)

// openShiftNetwork is the network of an OpenShift cluster, as its API server has it.
const openShiftNetwork = `
apiVersion: config.openshift.io/v1
kind: Network
metadata: {name: cluster}
spec:
  serviceNetwork: [172.30.0.0/16]
  clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
  networkType: OVNKubernetes
`

// testManagementIsNotDialed: a tenant's external host or upstream server with the address of a Service,
// or of a pod whose IPAM writes nothing on nodes, is not dialed.
func testManagementIsNotDialed(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	crd := filepath.Join(apiserver.ModuleDir(t, "github.com/openshift/api"), "config", "v1", "zz_generated.crd-manifests", "0000_10_config-operator_01_networks.crd.yaml")
	s.InstallDefinitions(t, crd)
	config := &unstructured.Unstructured{}
	g.Expect(sigsyaml.Unmarshal([]byte(openShiftNetwork), &config.Object)).To(Succeed())
	g.Expect(s.admin.Create(t.Context(), config)).To(Succeed())
	readAgain := func() { // Without it, only after seconds.
		_, err := r.environmentReader().Look(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
	}
	readAgain()
	defer readAgain()
	pods := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "of-pods"}, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.168.222.7"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "virt-api", Namespace: "kube-system"}}}}
	g.Expect(s.admin.Create(t.Context(), pods)).To(Succeed())
	defer func() {
		g.Expect(s.admin.Delete(t.Context(), config)).To(Succeed())
		g.Expect(s.admin.Delete(t.Context(), pods)).To(Succeed())
	}()

	// 10.0.0.10 is in the API server's ServiceCIDR.
	h := s.newHosted(t, "hostile", map[string]string{"allowed-hosts": "auto,evil.example.net,evil.example.net:30443", "dns-upstreams": "10.0.0.10,192.0.2.53"})
	h.publish(t)
	h.edgeServes(t)
	known, err := r.environmentReader().ServiceRange(t.Context())
	g.Expect(err).NotTo(HaveOccurred(), "an older API server has no ServiceCIDR")
	g.Expect(known.Prefix.String()).To(Equal("10.0.0.0/20"))
	stored := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "oooi-system", Name: "x"}, Spec: corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.1"}, Ports: []corev1.ServicePort{{Port: 443}}}}
	g.Expect(s.asOperator(t).Create(t.Context(), stored)).To(refusedByPolicy(), "the right is for dry runs")

	current := func() network.Network {
		plan, err := network.ReadPlan([]byte(h.plan(t)))
		if err != nil || len(plan.Networks) == 0 {
			return network.Network{}
		}
		return plan.Networks[0]
	}
	g.Eventually(func() bool { return current().MayDial(netip.MustParseAddr("192.168.222.7")) }).Should(BeFalse(), "a pod")
	n := current()
	for what, a := range map[string]string{"a Service": "10.0.0.77", "OpenShift's Service": "172.30.44.5", "OpenShift's pod": "10.131.9.9"} {
		g.Expect(n.MayDial(netip.MustParseAddr(a))).To(BeFalse(), what)
	}
	g.Expect(n.MayDial(netip.MustParseAddr("198.51.100.1"))).To(BeTrue())
	g.Expect(n.UpstreamServers()).To(HaveExactElements(netip.MustParseAddrPort("192.0.2.53:53")))
	g.Eventually(func() string { return h.condition(t).Message }).Should(And(
		ContainSubstring("evil.example.net:30443"), ContainSubstring("10.0.0.10:53"), ContainSubstring("NotPermitted")))

	h.annotate(t, "cidr", "x")
	g.Eventually(h.reason(t)).Should(BeEquivalentTo(problem.AnnotationInvalid))
	dialed := func() bool { return current().MayDial(netip.MustParseAddr("192.168.222.8")) }
	g.Expect(dialed()).To(BeTrue(), "no pod has it")
	pods.Endpoints[0].Addresses = []string{"192.168.222.8"}
	g.Expect(s.admin.Update(t.Context(), pods)).To(Succeed())
	g.Eventually(dialed).Should(BeFalse(), "an error does not keep what edges may dial, and nothing else leads to a pass")
}
