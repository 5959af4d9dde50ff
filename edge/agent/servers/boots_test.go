package servers

import (
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/agent/boots"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// TestBootsOfAnEdge: what the servers of an edge see of a VM is reported within seconds, and not before all VMs and leases are known.
func TestBootsOfAnEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		known, vm := false, boots.VM{Runs: true}
		var last []reported.Boot
		reports := 0
		b := Boots{
			Steps:     network.AllBootSteps,
			VMs:       func() (map[string]boots.VM, bool) { return map[string]boots.VM{"blue-1": vm}, known },
			Connected: func() string { return reported.ConnectedYes },
			Report:    func(all []reported.Boot, _ int) { last, reports = all, reports+1 },
		}
		go b.Run(t.Context())
		pass := func(d time.Duration) { <-time.After(d); synctest.Wait() } // of the bubble's clock
		pass(bootsInterval)
		g.Expect(reports).To(BeZero())
		known = true
		pass(bootsInterval)
		g.Expect(last).To(HaveExactElements(And(HaveField("VM", "blue-1"), HaveField("Seen", BeEmpty()))))
		b.Discovered("blue-1")
		vm.Leased = true
		b.Saw(map[string]map[network.BootStep]time.Time{"blue-1": {network.BootAPI: time.Now()}, "blue-2": {network.BootAPI: time.Now()}})
		pass(bootsInterval)
		g.Expect(last).To(HaveExactElements(HaveField("Seen", And(HaveLen(3), HaveKey(network.BootDiscover), HaveKey(network.BootLease), HaveKey(network.BootAPI)))))
		pass(reported.BootLimit)
		g.Expect(last[0].Late).To(BeTrue())
	})
}
