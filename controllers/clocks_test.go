// This file tests what follows from edges whose nodes have no synchronized clock.

package controllers

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// TestReportedClocks: the condition says whether another edge has the time, if that is known, how to find
// the node, and how VMs get to the other edge. What does not concern VMs is not reported.
func TestReportedClocks(t *testing.T) {
	const (
		none = "Warning ClockUnsynchronized: No edge of network clusters/vlan100 serves the time, because the clocks of their management cluster nodes are not synchronized (no program on the node synchronizes its clock, or it is not synchronized yet)."
		pods = "pod -n clusters-blue -l hostedcluster.densityops.com/network=clusters.vlan100,hostedcluster.densityops.com/edge=2"
		one  = "Warning ClockUnsynchronized: Edge 2 of network clusters/vlan100 serves no time, because the clock of its management cluster node is not synchronized (no program on the node synchronizes its clock, or it is not synchronized yet). " +
			"VMs that use edge 2 do not set their clocks. "
		check = "Check the time sources of that node: chronyc sources. To find the node: kubectl get " + pods + " -o wide"
	)
	withoutNTP := func(d appsv1.Deployment) appsv1.Deployment {
		d.Spec.Template.Spec.Containers = slices.DeleteFunc(slices.Clone(d.Spec.Template.Spec.Containers),
			func(c corev1.Container) bool { return c.Name == string(network.ServiceNTP) })
		return d
	}
	annotated := func(key, value string) func(*gather.World) {
		return func(w *gather.World) {
			metav1.SetMetaDataAnnotation(&w.HostedCluster.ObjectMeta, settings.Prefix+key, value)
		}
	}
	for name, c := range map[string]struct {
		without []int
		change  func(*gather.World)
		says    string
	}{
		"both clocks are synchronized": {nil, nil, ""},
		"no clock is synchronized":     {[]int{1, 2}, nil, none},
		"one clock is synchronized": {[]int{2}, nil, one + "Edge 1 serves the time, but an unsynchronized clock causes no failover. " + check +
			". To move the VMs to edge 1: kubectl delete " + pods},
		"the other edge has no report":     {[]int{2}, func(w *gather.World) { w.EdgeReports = w.EdgeReports[1:] }, one + check},
		"the other edge yields":            {[]int{2}, func(w *gather.World) { w.EdgeReports[0].Yields = true }, one + check},
		"the other edge has no NTP server": {[]int{2}, func(w *gather.World) { setEdge(w, first, withoutNTP) }, one + check},
		"the only reporting edge yields":   {[]int{2}, func(w *gather.World) { w.EdgeReports[1].Yields = true }, ""},
		"the other edge is down":           {[]int{2}, func(w *gather.World) { setEdge(w, first, stopped) }, none},
		"the edge itself is down":          {[]int{1}, func(w *gather.World) { setEdge(w, first, stopped) }, ""},
		"VMs have other time servers":      {[]int{1, 2}, annotated("ntp-servers", "192.168.100.1"), ""},
		"edges do not serve the time here": {[]int{1, 2}, annotated("services", "dhcp,dns,proxy"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := twoEdges(t)
			for edge := 1; edge <= 2; edge++ {
				r := reported.EdgeReport{Edge: edge, Level: reported.LevelReaches}
				for _, x := range c.without {
					if x == edge {
						r.ClockUnsynchronized.Cause = problem.ClockNotSet
					}
				}
				w.EdgeReports = append(w.EdgeReports, gather.NetworkReport{Network: "clusters.vlan100", EdgeReport: r})
			}
			if c.change != nil {
				c.change(&w)
			}
			said := ""
			for _, p := range decide.About(w, testOptions.Release, testNow).Problems {
				if p.Reason == problem.ClockUnsynchronized {
					said += line(p)
				}
			}
			if c.says == "" {
				g.Expect(said).To(BeEmpty())
			}
			g.Expect(said).To(HavePrefix(c.says))
		})
	}
}
