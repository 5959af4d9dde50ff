package derive_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// bridged is a NAD of a bridge, as package nad describes it. hash is that of its CNI configuration.
func bridged(name string, vlan, mtu int, hash string) network.Attachment {
	return network.Attachment{Namespace: "clusters", Name: name, Kind: "bridge", VLAN: vlan, MTU: mtu, ConfigHash: hash,
		Layer2: "bridge br1 vlan " + strconv.Itoa(vlan), EdgeNADConfig: `{"vlan":` + strconv.Itoa(vlan) + `}`}
}

// TestVMsKeepTheirNetwork: the NAD of a network in use is pinned, even if it is changed. The problem names both networks, the effect, and
// two fixes.
func TestVMsKeepTheirNetwork(t *testing.T) {
	was := bridged("vlan100", 100, 1500, "1-a")
	with := func(change func(*network.Attachment)) network.Attachment { a := was; change(&a); return a }
	ovn := network.Attachment{Namespace: "clusters", Name: "vlan100", Kind: "ovn-k8s-cni-overlay", Layer2: "localnet lan vlan 100", ConfigHash: "1-o"}
	for name, c := range map[string]struct {
		was, now network.Attachment
		cause    problem.Cause
		says     []string
	}{
		"another VLAN":                        {was, bridged("vlan100", 200, 1500, "1-b"), problem.PinnedNADMoved, []string{"now defines bridge br1 vlan 200", "remain on bridge br1 vlan 100", "back to bridge br1 vlan 100", "delete all VMs"}},
		"another type":                        {was, with(func(a *network.Attachment) { a.Kind, a.Layer2, a.ConfigHash = "macvlan", "macvlan br1 vlan 0", "1-b" }), problem.PinnedNADMoved, []string{"macvlan br1 vlan 0"}},
		"an unknown one":                      {was, with(func(a *network.Attachment) { a.Layer2, a.ConfigHash = "", "1-b" }), problem.PinnedNADMoved, []string{"type bridge"}},
		"another MTU":                         {was, with(func(a *network.Attachment) { a.MTU, a.ConfigHash = 9000, "1-b" }), problem.PinnedNADChanged, []string{"now has MTU 9000", "keep MTU 1500", "back to MTU 1500"}},
		"no MTU":                              {was, with(func(a *network.Attachment) { a.MTU, a.ConfigHash = 0, "1-b" }), problem.PinnedNADChanged, []string{"the default MTU"}},
		"another plugin":                      {was, with(func(a *network.Attachment) { a.Kind, a.ConfigHash = "cnv-bridge", "1-b" }), problem.PinnedNADChanged, []string{"type cnv-bridge", "type bridge"}},
		"another key":                         {was, with(func(a *network.Attachment) { a.ConfigHash = "1-b" }), problem.PinnedNADChanged, []string{"other CNI settings"}},
		"OVN":                                 {ovn, with(func(a *network.Attachment) { *a = ovn; a.Layer2, a.ConfigHash = "localnet lan vlan 200", "1-p" }), problem.PinnedOVNChanged, []string{"Each edge or VM that starts or migrates gets localnet lan vlan 200"}},
		"as another release of oooi takes it": {was, with(func(a *network.Attachment) { a.ConfigHash = "2-b" }), "", nil},
		"another VLAN, as another release takes it":     {was, bridged("vlan100", 200, 1500, "2-b"), problem.PinnedNADMoved, nil},
		"a plan of a release that knew no hashes":       {with(func(a *network.Attachment) { a.ConfigHash = "" }), was, "", nil},
		"a plan of a release that knew no networks":     {with(func(a *network.Attachment) { a.ConfigHash, a.Layer2 = "", "" }), was, "", nil},
		"other sysctls of edges, other names":           {was, with(func(a *network.Attachment) { a.EdgeNADConfig = `{"name":"x"}` }), "", nil},
		"a NAD that the dump lacks":                     {was, network.Attachment{Namespace: "clusters", Name: "vlan100"}, "", nil},
		"a device plugin resource that is no network":   {was, with(func(a *network.Attachment) { a.ResourceName = "bridge.network.kubevirt.io/br1" }), "", nil},
		"the same NAD, of which nothing changed at all": {was, was, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var in given
			last := tenant(2, 10, 99, segment(func(s *network.NetworkRequest) { s.Attachment = c.was }), func(x *given) { in = *x })
			in.Networks = slices.Clone(in.Networks)
			in.Networks[0].Attachment = c.now
			free, problems := after(in, last)
			g.Expect(free.Networks[0].Attachment).To(Equal(c.now), "no VM is on it")
			g.Expect(problems).To(BeEmpty())

			in.InUse = []string{"clusters.vlan100"}
			plan, problems := after(in, last)
			if c.cause == "" {
				g.Expect(plan).To(Equal(free))
				g.Expect(problems).To(BeEmpty())
				return
			}
			g.Expect(plan).To(Equal(last), "edges stay, and the MTU that VMs get")
			g.Expect(problems).To(HaveExactElements(And(HaveField("Cause", c.cause), HaveField("Severity", problem.SeverityWarning), HaveField("Keys", []string{"spec.config"}))))
			for _, s := range c.says {
				g.Expect(message(problems[0])).To(ContainSubstring(s))
			}
			in.Networks[0].Attachment = c.was
			back, problems := after(in, plan)
			g.Expect(back).To(Equal(last))
			g.Expect(problems).To(BeEmpty(), "it was changed back")
		})
	}
}

// TestPinnedNetworkIsServedOnce: another NAD of the layer-2 network that VMs pin waits, because its edges would serve the same VMs.
func TestPinnedNetworkIsServedOnce(t *testing.T) {
	g := NewWithT(t)
	var in given
	last := tenant(2, 10, 99, segment(func(s *network.NetworkRequest) { s.Attachment = bridged("first", 100, 0, "1-a") }), func(x *given) { in = *x })
	second := in.Networks[0]
	second.Attachment, second.CIDR, second.Settings = bridged("second", 100, 0, "1-a"), netip.MustParsePrefix("10.7.0.0/24"), network.Settings{}
	in.Networks = []network.NetworkRequest{in.Networks[0], second}
	in.Networks[0].Attachment = bridged("first", 200, 0, "1-b")
	in.InUse = []string{"clusters.first"}
	plan, problems := after(in, last)
	g.Expect(plan.Networks).To(HaveExactElements(last.Networks[0]))
	g.Expect(problems).To(HaveExactElements(HaveField("Cause", problem.PinnedNADMoved), HaveField("Cause", problem.NADDuplicatesRunning)))
	in.InUse = nil
	plan, problems = after(in, last)
	g.Expect(plan.Networks).To(HaveLen(2))
	g.Expect(problems).To(BeEmpty())
}

// TestNetworksInUseNeverMove: for any two worlds in a row, a network with VMs keeps its NAD, and a network without VMs has the requested
// one. No two networks of a plan are the same layer-2 network.
func TestNetworksInUseNeverMove(t *testing.T) {
	kept, moved := 0, 0
	for seed := range uint64(3000) {
		last, problems := derived(onBridges(world(seed), seed))
		if problems.Blocking() {
			continue
		}
		r := rand.New(rand.NewPCG(seed, 5))
		next := onBridges(world(seed), seed+100000)
		for _, n := range last.Networks {
			if r.IntN(2) == 0 {
				next.InUse = append(next.InUse, n.Name)
			}
			next.Wanted = append(next.Wanted, n.Name)
		}
		plan, problems := after(next, last)
		if problems.Blocking() {
			continue // what is served stays
		}
		for i, n := range plan.Networks {
			if slices.ContainsFunc(plan.Networks[:i], func(x network.Network) bool { return x.Attachment.SameNetwork(n.Attachment) }) {
				t.Fatalf("seed %d: two networks are %s", seed, n.Attachment.Layer2)
			}
			at := slices.IndexFunc(last.Networks, func(x network.Network) bool { return x.Name == n.Name })
			if at < 0 {
				continue
			}
			same := n.Attachment == last.Networks[at].Attachment
			switch {
			case slices.Contains(next.InUse, n.Name) && !same:
				t.Fatalf("seed %d: VMs are on %v, and edges move to %v", seed, last.Networks[at].Attachment, n.Attachment)
			case slices.Contains(next.InUse, n.Name):
				kept++
			case !same:
				moved++
			}
		}
	}
	if kept < 100 || moved < 100 {
		t.Fatalf("%d networks were kept, %d moved", kept, moved)
	}
}

// onBridges is in with its NADs on VLANs of one bridge, no two on the same.
func onBridges(in given, seed uint64) given {
	r := rand.New(rand.NewPCG(seed, 3))
	vlans := r.Perm(len(in.Networks) + 2)
	for i := range in.Networks {
		a := bridged(in.Networks[i].Attachment.Name, vlans[i], 1500*r.IntN(2), "")
		a.ConfigHash = "1-" + a.Layer2 + strconv.Itoa(a.MTU)
		in.Networks[i].Attachment = a
	}
	return in
}
