package controllers

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/programs"
)

// TestBeginsWhenKindsAppear: the operator may be there first. It is ready, says once what is missing, and
// begins with each kind as it appears, without a restart.
func TestBeginsWhenKindsAppear(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newAPIServer(t)
	logs := &programs.Output{}
	s.log = logr.FromSlogHandler(slog.NewJSONHandler(logs, nil))
	logged := func(text string) func() []string {
		return func() []string {
			return slices.DeleteFunc(strings.Split(logs.String(), "\n"), func(line string) bool { return !strings.Contains(line, text) })
		}
	}
	r, registry := s.run(t)
	watched := func() map[string]float64 { return gauges(t, registry, "oooi_kind_watched") }
	ready := func() error { return r.Kinds.Ready(nil) }
	g.Eventually(watched).Should(And(HaveKeyWithValue("HostedCluster", 0.), HaveKeyWithValue("Route", 0.), HaveKeyWithValue("Service", 1.)))
	g.Eventually(ready).Should(Succeed(), "an installation waits for it")
	g.Eventually(logged("kinds do not exist yet")).Should(ConsistOf(And(ContainSubstring("HostedCluster"), ContainSubstring("NodePool"),
		ContainSubstring("NetworkAttachmentDefinition"), ContainSubstring("VirtualMachineInstance"), ContainSubstring("Route"))))

	definitions := apiserver.Definitions(t)
	appears := func(name, kind string) {
		t.Helper()
		g.Expect(s.admin.Create(t.Context(), definitions[name])).To(Succeed())
		g.Eventually(watched).Should(HaveKeyWithValue(kind, 1.))
	}
	appears("hostedclusters.hypershift.openshift.io", "HostedCluster")
	appears("hostedcontrolplanes.hypershift.openshift.io", "HostedControlPlane")
	h := s.bareHosted(t, "late")
	g.Eventually(h.reason(t)).Should(BeEquivalentTo(problem.WaitingForNetwork), "a kind that is missing has no objects")

	appears("routes.route.openshift.io", "Route")
	h.publish(t)
	testVersionAppears(t, observed{h, r, registry}, definitions["nodepools.hypershift.openshift.io"])
	h.createOf(t, "NodePool")
	g.Eventually(h.says(t)).Should(HavePrefix(string(problem.NetworkMissing)))

	appears("network-attachment-definitions.k8s.cni.cncf.io", "NetworkAttachmentDefinition")
	h.createOf(t, "NetworkAttachmentDefinition")
	g.Eventually(h.reason(t)).Should(Equal(string(problem.AddressCheckPending)), "it is served")

	appears("virtualmachineinstances.kubevirt.io", "VirtualMachineInstance")
	h.vm(t, "vm1", "192.168.100.2")
	g.Eventually(h.says(t)).Should(ContainSubstring(string(problem.AddressInUse)), "VMs are followed")
	g.Eventually(logged("all kinds are watched")).Should(HaveLen(1))
	g.Expect(ready()).To(Succeed())
}

// testVersionAppears: HyperShift serves another version of a kind only, and is then upgraded.
func testVersionAppears(t *testing.T, o observed, definition *unstructured.Unstructured) {
	g := NewWithT(t)
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	g.Expect(err).NotTo(HaveOccurred())
	known, ok := versions[0].(map[string]any)
	g.Expect(ok).To(BeTrue())
	former := maps.Clone(known)
	former["name"] = "v1alpha9"
	g.Expect(unstructured.SetNestedSlice(definition.Object, []any{former}, "spec", "versions")).To(Succeed())
	g.Expect(o.admin.Create(t.Context(), definition)).To(Succeed())
	o.unwatched(t, "NodePool", "serves version v1alpha9")

	known["storage"] = false
	g.Expect(unstructured.SetNestedSlice(definition.Object, []any{former, known}, "spec", "versions")).To(Succeed())
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"versions": []any{former, known}}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.admin.Patch(t.Context(), definition, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
	g.Eventually(func() map[string]float64 { return gauges(t, o.registry, "oooi_kind_watched") }).Should(HaveKeyWithValue("NodePool", 1.))
	g.Eventually(func() error { return o.operator.Kinds.Ready(nil) }).Should(Succeed())
}

// bareHosted creates the HostedCluster of newHosted, and nothing that it uses.
func (s *apiServer) bareHosted(t *testing.T, name string) hosted {
	t.Helper()
	h := hosted{s, types.NamespacedName{Namespace: "clusters", Name: name}, "clusters-" + name}
	for _, ns := range []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: h.key.Namespace}}, apiserver.ControlPlaneNamespace(h.ns)} {
		NewWithT(t).Expect(s.admin.Create(t.Context(), ns)).To(Succeed())
	}
	h.createOf(t, "HostedCluster")
	return h
}

// createOf creates the sample's objects of a kind.
func (h hosted) createOf(t *testing.T, kind string) {
	t.Helper()
	for _, u := range apiserver.Sample(t, h.key.Name) {
		if u.GetKind() == kind {
			NewWithT(t).Eventually(func() error { return h.admin.Create(t.Context(), u.DeepCopy()) }).Should(Succeed())
		}
	}
}

// gauges are the values of a metric by its one label, or by "" if it has none.
func gauges(t *testing.T, registry *prometheus.Registry, metric string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() != metric {
				continue
			}
			label := ""
			for _, l := range m.GetLabel() {
				label = l.GetValue()
			}
			out[label] = m.GetGauge().GetValue()
		}
	}
	return out
}
