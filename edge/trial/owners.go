// This file finds out which hosts answer ARP requests for the addresses that edges share. The kernel keeps the first answer,
// so other hosts are asked in a way that edges do not answer.

package trial

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// othersAnswer is how long other hosts have to answer. The kernel sends one ARP request in that time.
const othersAnswer = 900 * time.Millisecond

// otherHosts returns the hosts, without the edges, that answer for shared addresses: the first one for each. The kernel
// sends the ARP requests from an address outside of the CIDR (device.Snapshot.AddressOutside), because edges do not
// reply to requests from it. A host that verifies source addresses, and has no route to this one through the network,
// does not reply either. Without such an address, or without the MACs of the edges, nothing is sent. Call it before the
// kernel knows the edges' MACs: afterwards the kernel sends to the hosts that it found.
func otherHosts(ctx context.Context, o Options) ([]reported.UsedAddress, error) {
	if len(o.EdgeMACs) == 0 {
		return nil, nil
	}
	s, err := device.Read(o.Device)
	if err != nil {
		return nil, err
	}
	from := s.AddressOutside(o.Network.CIDR)
	if !from.IsValid() {
		return nil, nil
	}
	all := slices.Concat(o.Network.SharedAddresses(), reported.Controls(o.Network))
	if err := device.Solicit(o.Device, from, all...); err != nil {
		return nil, err
	}
	signal.Sleep(ctx, othersAnswer)
	table, err := device.Neighbors(o.Device)
	var answers []reported.UsedAddress
	for _, x := range table {
		if x.MAC != "" && slices.Contains(all, x.Address) {
			answers = append(answers, reported.UsedAddress{Address: x.Address, MAC: x.MAC})
		}
	}
	return reported.SharedByOthers(o.Network, answers, o.EdgeMACs), err
}

// owners returns which hosts have each shared address that was used.
func owners(o Options, otherHosts []reported.UsedAddress, macOf func(netip.Addr) string) (out []network.TrialResult) {
	for _, a := range o.Network.SharedAddresses() {
		r := network.TrialResult{Name: "an edge has " + a.String()}
		mac := macOf(a)
		other := slices.IndexFunc(otherHosts, func(u reported.UsedAddress) bool { return u.Address == a })
		switch {
		case other >= 0:
			r.Problems = found(problem.VIPShared, problem.Args{"macs": {strings.Join(o.EdgeMACs, " or ")}, "mac": {otherHosts[other].MAC}})
		case mac == "":
			continue
		case !slices.Contains(o.EdgeMACs, mac):
			r.Problems = found(problem.VIPForeign, problem.Args{"mac": {mac}})
		}
		out = append(out, r)
	}
	return out
}
