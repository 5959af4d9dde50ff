package sharedfiles_test

import (
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// TestBootsAreOfVMs: a step counts for the VM with the lease on the address, if the host there has its MAC. Addresses that hosts make
// up take no memory, and push no VM out. A lease that ends takes the steps with it.
func TestBootsAreOfVMs(t *testing.T) {
	g := NewWithT(t)
	dir, log := t.TempDir(), slog.New(slog.NewTextHandler(t.Output(), nil))
	cache, file := filepath.Join(dir, wire.LeaseCache), filepath.Join(dir, wire.BootsFile)
	store := func(vms ...string) {
		var all []string
		for i, vm := range vms {
			all = append(all, fmt.Sprintf(`{"address":"192.168.100.%d","mac":"02:00:00:00:00:0%d","vm":"%s","expires":"2999-01-01T00:00:00Z"}`, 10+i, i, vm))
		}
		g.Expect(sharedfiles.Replace(cache, []byte("["+strings.Join(all, ",")+"]"))).To(Succeed())
	}
	store("blue-0", "blue-1", "")
	forged := netip.MustParseAddr("192.168.100.11")
	boots := sharedfiles.NewBootsFile(file, sharedfiles.NewLeaseNames(cache, log), func(a netip.Addr) string {
		if a == forged {
			return "02:00:00:00:00:66"
		}
		return fmt.Sprintf("02:00:00:00:00:0%d", a.As4()[3]-10)
	})
	var seen atomic.Pointer[sharedfiles.Boots]
	go boots.Run(t.Context(), log)
	go sharedfiles.FollowBoots(t.Context(), file, network.ServiceProxy, func(all sharedfiles.Boots) { seen.Store(&all) }, log)
	for i := range 50_000 {
		boots.Saw(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), network.BootAPI)
	}
	boots.Saw(forged, network.BootAPI)
	boots.Saw(netip.MustParseAddr("192.168.100.12"), network.BootAPI) // An unknown client.
	boots.Saw(netip.MustParseAddr("192.168.100.10"), "")
	boots.Saw(netip.MustParseAddr("192.168.100.10"), network.BootAPI)
	g.Eventually(seen.Load, "1m").Should(HaveValue(And(HaveLen(1), HaveKeyWithValue("blue-0", And(HaveLen(1), HaveKey(network.BootAPI))))))
	first := (*seen.Load())["blue-0"][network.BootAPI]
	boots.Saw(netip.MustParseAddr("192.168.100.10"), network.BootAPI)
	boots.Saw(netip.MustParseAddr("192.168.100.10"), network.BootKonnectivity)
	g.Eventually(seen.Load, "1m").Should(HaveValue(HaveKeyWithValue("blue-0", HaveLen(2))))
	g.Expect((*seen.Load())["blue-0"][network.BootAPI]).To(Equal(first), "the first time")
	store("green-0")
	g.Eventually(seen.Load, "1m").Should(HaveValue(BeEmpty()))
}

// TestHostileBootsFile: a server that a VM took over stores steps that only another server sees, or no JSON, or too much. None counts.
func TestHostileBootsFile(t *testing.T) {
	g := NewWithT(t)
	file, said := filepath.Join(t.TempDir(), wire.BootsFile), gbytes.NewBuffer()
	var seen atomic.Pointer[sharedfiles.Boots]
	go sharedfiles.FollowBoots(t.Context(), file, network.ServiceDNS, func(all sharedfiles.Boots) { seen.Store(&all) }, slog.New(slog.NewTextHandler(said, nil)))
	const at = `"2026-03-04T05:06:07Z"`
	store := func(text string) { g.Expect(sharedfiles.Replace(file, []byte(text))).To(Succeed()) }
	store(`{"blue-1":{"discover":` + at + `,"name":` + at + `,"konnectivity":` + at + `,"tea":` + at + `},"blue-2":null}`)
	g.Eventually(seen.Load, "1m").Should(HaveValue(HaveKeyWithValue("blue-1", And(HaveLen(1), HaveKey(network.BootName)))))
	for _, text := range []string{`{"blue-1":`, `{"blue-1":{"name":1}}`, `{"` + strings.Repeat("x", 1<<20) + `":{}}`} {
		store(text)
		g.Eventually(said, "1m").Should(gbytes.Say("boots of VMs not read"))
	}
	g.Expect(*seen.Load()).To(HaveKey("blue-1"))
}
