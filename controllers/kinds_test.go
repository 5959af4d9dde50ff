package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/network"
)

// TestBeginsWhenHyperShiftAppears: the operator may be there first.
func TestBeginsWhenHyperShiftAppears(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	_, registry := s.run(t)
	watched := func() map[string]float64 { return gauges(t, registry, "oooi_kind_watched") }
	g.Eventually(watched).WithTimeout(patience).Should(And(HaveKeyWithValue("HostedCluster", 0.), HaveKeyWithValue("Route", 0.), HaveKeyWithValue("Service", 1.)))
	s.installKinds(t)
	g.Eventually(watched).WithTimeout(patience).Should(And(HaveKeyWithValue("HostedCluster", 1.), HaveKeyWithValue("VirtualMachineInstance", 1.)))
	h := s.newHosted(t, "late", nil)
	h.publish(t)
	g.Eventually(h.reason(t)).WithTimeout(patience).Should(Equal(string(network.AddressCheckPending)))
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
