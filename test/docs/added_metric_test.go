//go:build added

// This file tests what follows from a metric that TestAddedMetric adds.

package docs

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/network/metrics"
)

// TestMetricThatWasAdded: the program serves it, the edge passes it on, and the page has its row.
func TestMetricThatWasAdded(t *testing.T) {
	const name = "oooi_dhcp_searches_total"
	g, r := NewWithT(t), prometheus.NewRegistry()
	dhcp.NewMetrics(r).OtherServers(0)
	families, err := r.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(families).To(ContainElement(HaveField("GetName()", name)))
	g.Expect(metrics.Exports("dhcp", name)).To(BeTrue())
	g.Expect(metrics.Exports("dns", name)).To(BeFalse(), "no other program can forge it")
	page, err := os.ReadFile(filepath.Join(root, "docs", "metrics.md"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(metricsPage(string(page))).To(ContainSubstring("| `" + name + "` | `found` | Searches for other DHCP servers. |\n| `oooi_dhcp_other_servers` |"))
}
