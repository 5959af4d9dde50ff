package kube

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// TestEachVMOfANetwork: a VM runs on a network if it runs, and one of its interfaces has the NetworkAttachmentDefinition, with or
// without its namespace. One whose address KubeVirt reports is a node already. All its MACs belong to it.
func TestEachVMOfANetwork(t *testing.T) {
	g := gomega.NewWithT(t)
	m := &VMs{cidr: netip.MustParsePrefix("192.168.100.0/24"), store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	for name, c := range map[string]struct{ phase, nad, address string }{
		"on":        {"Running", "clusters-blue/vlan100", ""},
		"short":     {"Running", "vlan100", ""},
		"elsewhere": {"Running", "clusters-blue/vlan200", ""},
		"starting":  {"Scheduled", "clusters-blue/vlan100", ""},
		"pods":      {"Running", "", ""},
		"booted":    {"Running", "clusters-blue/vlan100", "192.168.100.30"},
		"odd":       {"Running", "\x00/", ""},
	} {
		networks := []any{map[string]any{"name": "default", "pod": map[string]any{}}, "odd", map[string]any{"name": "net", "multus": map[string]any{"networkName": c.nad}}}
		one, err := m.keep(&unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name, "namespace": "clusters-blue"},
			"spec": map[string]any{"networks": networks, "domain": map[string]any{"devices": map[string]any{"interfaces": []any{
				map[string]any{"name": "default", "macAddress": "02:00:00:00:00:01"}, map[string]any{"name": "net"}}}}},
			"status": map[string]any{"phase": c.phase, "interfaces": []any{map[string]any{"name": "net", "mac": "02:00:00:00:00:02", "ipAddress": c.address}}},
		}})
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(m.store.Add(one)).To(gomega.Succeed())
	}
	runs := map[string]bool{}
	m.Each("clusters-blue/vlan100", func(name string, macs []string, run bool) {
		runs[name] = run
		g.Expect(fmt.Sprint(macs)).To(gomega.Equal("[02:00:00:00:00:01 02:00:00:00:00:02]"), name)
	})
	g.Expect(runs).To(gomega.Equal(map[string]bool{"on": true, "short": true, "elsewhere": false, "starting": false, "pods": false, "booted": false, "odd": false}))
}
