package boots

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// begin is when the edge of a test starts.
var begin = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func after(minutes float64) time.Time {
	return begin.Add(time.Duration(minutes * float64(time.Minute)))
}

// new1 has a VM that never had an address, and that runs.
func new1() map[string]VM { return map[string]VM{"blue-1": {Runs: true}} }

// saw is one step of blue-1.
func saw(s network.BootStep, at time.Time) map[string]map[network.BootStep]time.Time {
	return map[string]map[network.BootStep]time.Time{"blue-1": {s: at}}
}

// TestAVMThatStopsAfterEachStep: the report has the steps that were seen, and after ten minutes the VM is late. A VM with all
// steps is not.
func TestAVMThatStopsAfterEachStep(t *testing.T) {
	steps := network.AllBootSteps()
	for stops := range len(steps) + 1 {
		t.Run(fmt.Sprint(steps[:stops]), func(t *testing.T) {
			g := NewWithT(t)
			var lines Timelines
			lines.Look(new1(), "", begin)
			for i, s := range steps[:stops] {
				at := begin.Add(time.Duration(i+1) * time.Second)
				switch s {
				case network.BootDiscover:
					lines.Discovered("blue-1", at)
				case network.BootLease:
					lines.Look(map[string]VM{"blue-1": {Runs: true, Leased: true}}, "", at)
				default:
					lines.Saw(saw(s, at))
				}
				lines.Saw(saw(s, at.Add(time.Minute))) // Only the first time counts.
			}
			all, omitted := lines.Report(steps, after(9))
			g.Expect(omitted).To(BeZero())
			g.Expect(all).To(HaveLen(1))
			g.Expect(all[0].Late).To(BeFalse())
			last, missing := all[0].Steps(steps)
			if stops > 0 {
				g.Expect(last).To(Equal(steps[stops-1]))
				g.Expect(all[0].At(last)).To(Equal(begin.Add(time.Duration(stops) * time.Second)))
			}
			all, _ = lines.Report(steps, after(11))
			if stops == len(steps) {
				g.Expect(missing).To(BeEmpty())
				g.Expect(all[0].Late).To(BeFalse())
				return
			}
			g.Expect(missing).To(Equal(steps[stops]))
			g.Expect(all[0].Late).To(BeTrue())
		})
	}
}

// TestANodeIsNotBooting: an edge that starts finds VMs that have an address, and never reports them, whatever they do. A VM that
// is gone is forgotten.
func TestANodeIsNotBooting(t *testing.T) {
	g := NewWithT(t)
	var lines Timelines
	node := map[string]VM{"blue-1": {Runs: true, Leased: true}}
	for minute := range 60 {
		lines.Look(node, reported.ConnectedYes, after(float64(minute)))
		lines.Saw(saw(network.BootAPI, after(float64(minute))))
	}
	g.Expect(lines.Report(network.AllBootSteps(), after(60))).To(BeEmpty())
	lines.Look(map[string]VM{"blue-1": {Leased: true}, "blue-2": {}, "blue-3": {Runs: true}}, "", after(61))
	all, _ := lines.Report(network.AllBootSteps(), after(61))
	g.Expect(all).To(HaveExactElements(HaveField("VM", "blue-3")), "blue-2 does not run yet")
	lines.Look(node, "", after(62))
	g.Expect(lines.Report(network.AllBootSteps(), after(62))).To(BeEmpty())
	g.Expect(lines.Report(nil, after(62))).To(BeEmpty())
}

// TestForgedStepsDelayNoReport: another VM can send a DHCPDISCOVER with the MAC of a VM, and a DNS question from its address. Neither
// delays when the VM is late.
func TestForgedStepsDelayNoReport(t *testing.T) {
	g := NewWithT(t)
	var lines Timelines
	lines.Look(new1(), "", begin)
	for minute := range 10 {
		lines.Discovered("blue-1", after(float64(minute)))
		lines.Look(map[string]VM{"blue-1": {Runs: true, Leased: minute > 5}}, "", after(float64(minute)))
		lines.Saw(saw(network.BootName, after(float64(minute)+0.9)))
	}
	all, _ := lines.Report(network.AllBootSteps(), after(10))
	g.Expect(all).To(HaveExactElements(HaveField("Late", true)))
	lines.Saw(saw(network.BootIgnition, after(9.9)))
	all, _ = lines.Report(network.AllBootSteps(), after(19.8))
	g.Expect(all).To(HaveExactElements(HaveField("Late", false)), "a connection is progress")
	all, _ = lines.Report(network.AllBootSteps(), after(20))
	g.Expect(all).To(HaveExactElements(HaveField("Late", true)))
}

// TestAnEdgeThatTakesOverWaits: an edge without connections of VMs did not see how far the VMs of its peer came. Once it has
// connections, it gives each VM ten minutes. Short pauses between connections do not count.
func TestAnEdgeThatTakesOverWaits(t *testing.T) {
	steps := network.AllBootSteps()
	late := func(lines *Timelines, minute float64) bool {
		all, _ := lines.Report(steps, after(minute))
		return len(all) == 1 && all[0].Late
	}
	g := NewWithT(t)
	var lines Timelines
	lines.Look(new1(), reported.ConnectedNo, begin)
	lines.Look(new1(), reported.ConnectedYes, after(60))
	g.Expect(late(&lines, 69)).To(BeFalse())
	lines.Saw(saw(network.BootKonnectivity, after(69)))
	g.Expect(late(&lines, 90)).To(BeFalse())

	lines = Timelines{}
	for minute := range 10 {
		lines.Look(new1(), []string{reported.ConnectedNo, reported.ConnectedYes}[minute%2], after(float64(minute)))
	}
	g.Expect(late(&lines, 10)).To(BeTrue())
}

// TestFewBootsAreReported: of 500 VMs that boot, the 16 oldest are reported and the others counted. Nodes take no place of VMs that
// are not nodes yet.
func TestFewBootsAreReported(t *testing.T) {
	g := NewWithT(t)
	var lines Timelines
	vms := map[string]VM{}
	for i := range 500 {
		vms[fmt.Sprintf("blue-%03d", i)] = VM{Runs: true}
		lines.Look(vms, "", begin.Add(time.Duration(i)*time.Second))
	}
	all, omitted := lines.Report(network.AllBootSteps(), after(30))
	g.Expect(all).To(HaveLen(reported.MaxBoots))
	g.Expect(omitted).To(Equal(500 - reported.MaxBoots))
	g.Expect(all[0].VM).To(Equal("blue-000"))
	nodes := map[string]map[network.BootStep]time.Time{}
	for i := range 498 {
		nodes[fmt.Sprintf("blue-%03d", i)] = map[network.BootStep]time.Time{network.BootKonnectivity: after(30)}
	}
	lines.Saw(nodes)
	all, omitted = lines.Report(network.AllBootSteps(), after(30))
	g.Expect(omitted).To(BeZero())
	g.Expect(all).To(HaveLen(reported.MaxBoots))
	g.Expect([]string{all[0].VM, all[1].VM, all[2].VM, all[15].VM}).To(Equal([]string{"blue-498", "blue-499", "blue-497", "blue-484"}))
}
