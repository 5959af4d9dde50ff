// This file finds other hosts that answer ARP requests for the addresses that edges share, in the kernel's neighbor table. A
// VM can forge any answer, so what is kept and reported is limited, and answers have no other effect.
//
// No socket of an edge sees ARP messages: that needs a privilege. The kernel asks for an address only if the interface does
// not have it, so hosts are found only where wire.VIPDevice has the VIPs. The sender is the pod's address on the cluster
// network: edges do not answer it (strict rp_filter), and only the host that answers stores it. An announcement of the peer
// replaces the other host's answer in this kernel, but not in the peer's own. Then only the peer finds that host.

package agent

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/edge/agent/sightings"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

const (
	// vipsAsked is how often shared addresses are asked for.
	vipsAsked = 10 * time.Second
	// vipAnswers is how many answers of a host are needed before it is reported. The kernel asks again after 20 to 60 s.
	vipAnswers = 3
	// vipAnswerCounts is how old an answer may be when it is counted.
	vipAnswerCounts = 2 * vipsAsked
	// vipHostKept is how long a host is reported after its last answer.
	vipHostKept = 3 * time.Minute
)

// vipHosts holds the hosts that answered. The zero value has none.
type vipHosts struct {
	// Field asked is when Solicit was last called.
	asked time.Time
	all   []vipHost
}

// A vipHost is one host that answered for one address.
type vipHost struct {
	reported.UsedAddress
	answers int
	last    time.Time
}

// next records which hosts answered for addresses, from the neighbor table. It ignores answers from the MACs in parameter
// edges.
func (v vipHosts) next(table []device.Neighbor, addresses []netip.Addr, edges []string, now time.Time) vipHosts {
	v.all = slices.DeleteFunc(slices.Clone(v.all), func(h vipHost) bool {
		return now.Sub(h.last) > vipHostKept || slices.Contains(edges, h.MAC) || !slices.Contains(addresses, h.Address)
	})
	for _, n := range table {
		if n.MAC == "" || n.Confirmed > vipAnswerCounts || slices.Contains(edges, n.MAC) || !slices.Contains(addresses, n.Address) {
			continue
		}
		u, at := reported.UsedAddress{Address: n.Address, MAC: n.MAC}, now.Add(-n.Confirmed)
		i := slices.IndexFunc(v.all, func(h vipHost) bool { return h.UsedAddress == u })
		if i < 0 {
			// The least credible host is dropped: with the fewest answers, then with the oldest one.
			slices.SortStableFunc(v.all, func(a, b vipHost) int { return cmp.Or(b.answers-a.answers, b.last.Compare(a.last)) })
			v.all = append(v.all[:min(len(v.all), sightings.Max-1)], vipHost{UsedAddress: u})
			i = len(v.all) - 1
		}
		// The kernel's clock is read a moment before now: one answer has nearly equal times.
		if at.Sub(v.all[i].last) > time.Second {
			v.all[i].answers, v.all[i].last = v.all[i].answers+1, at
		}
	}
	return v
}

// list returns the hosts that answered often enough, sorted, without those with proxy ARP, which also answer for controls of
// n.
func (v vipHosts) list(n network.Network) []reported.UsedAddress {
	var all []reported.UsedAddress
	for _, h := range v.all {
		if h.answers >= vipAnswers || slices.Contains(reported.Controls(n), h.Address) {
			all = append(all, h.UsedAddress)
		}
	}
	all = reported.SharedByOthers(n, all, nil)
	return all[:min(len(all), sightings.MaxReported)]
}

// edgesKnown reports whether the MACs of all edges are known. Otherwise an unknown MAC may be that of an edge.
func edgesKnown(s failover.State) bool { return s.PeerMAC() != "" && !s.Yields && !s.Duplicated() }

// lookForVIPHosts records the answers that the kernel got, and makes the kernel ask again. Parameter known is the result of
// edgesKnown. If it is false, all answers are ignored.
func (f *Failover) lookForVIPHosts(table []device.Neighbor, known bool, now time.Time) {
	n := f.Source.Current().Network
	addresses, from := f.Interface.Askable(n)
	f.mu.Lock()
	if !known {
		table = nil
	}
	f.view.vipHosts = f.view.vipHosts.next(table, addresses, f.view.peerAddress.own, now)
	was, found := f.view.report.VIPHosts, f.view.vipHosts.list(n)
	f.view.report.VIPHosts = found
	asks := now.Sub(f.view.vipHosts.asked) >= vipsAsked && len(addresses) > 0
	if asks {
		f.view.vipHosts.asked = now
	}
	f.mu.Unlock()
	if !slices.Equal(was, found) {
		f.Log.Warn("other hosts that answer for addresses of the edges changed", "hosts", found)
	}
	if !asks {
		return
	}
	if err := device.Solicit(f.Interface.Name, from, addresses...); err != nil {
		f.Log.Debug("ARP requests for addresses of the edges not sent", "err", err)
	}
}
