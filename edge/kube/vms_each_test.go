package kube

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

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

// TestReportedAddressOfAVM: a VM has its first address inside the network, else its first other one. Only addresses inside belong to it
// alone. A VM that is finished has none.
func TestReportedAddressOfAVM(t *testing.T) {
	g := gomega.NewWithT(t)
	m := &VMs{cidr: netip.MustParsePrefix("192.168.100.0/24"), store: cache.NewStore(cache.MetaNamespaceKeyFunc), seen: func() bool { return true }, deletions: deletions{now: time.Now}}
	for mac, c := range map[string]struct {
		phase   string
		reports []any
	}{
		"02:00:00:00:00:01": {"Running", []any{"fe80::1", "10.1.1.1", "192.168.100.66"}},
		"02:00:00:00:00:02": {"Running", []any{"fe80::1", "169.254.0.2", "10.9.9.11", "10.9.9.12"}},
		"02:00:00:00:00:03": {"Failed", []any{"192.168.100.3"}},
		"02:00:00:00:00:04": {"Succeeded", []any{"192.168.100.4"}},
	} {
		one, err := m.keep(&unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": mac, "namespace": "clusters-blue"},
			"spec":     map[string]any{"domain": map[string]any{"devices": map[string]any{"interfaces": []any{map[string]any{"name": "net"}}}}},
			"status":   map[string]any{"phase": c.phase, "interfaces": []any{map[string]any{"name": "net", "mac": mac, "ipAddresses": c.reports}}},
		}})
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(m.store.Add(one)).To(gomega.Succeed())
	}
	m.rebuild()
	for mac, want := range map[string]string{"02:00:00:00:00:01": "192.168.100.66", "02:00:00:00:00:02": "10.9.9.11"} {
		_, a, ok := m.VM(mac)
		g.Expect(ok).To(gomega.BeTrue())
		g.Expect(a.String()).To(gomega.Equal(want))
	}
	g.Expect(m.Reported()).To(gomega.Equal(map[netip.Addr]string{netip.MustParseAddr("192.168.100.66"): "02:00:00:00:00:01"}))
	_, _, ok := m.VM("02:00:00:00:00:03")
	g.Expect(ok).To(gomega.BeFalse())
}
