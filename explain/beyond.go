// This file renders what hosts beyond a network reach through its gateway.

package explain

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// beyond returns rows about the hosts behind the gateway that edges answer, and about where edges answer them.
func (v view) beyond() []row {
	if len(v.n.ClientNetworks) == 0 {
		return nil
	}
	rows := []row{{"from", fmt.Sprintf("%s, answered through the gateway %s%s", strings.Join(network.Texts(v.n.ClientNetworks), ", "), v.n.DHCP.Router, v.from(network.KeyClientNetworks))}}
	if ports := v.portsAt(v.n.ServiceVIP); ports != "" {
		rows = append(rows, row{"connections", fmt.Sprintf("%s at the service VIP %s, as VMs", ports, v.n.ServiceVIP)})
	}
	for _, a := range v.n.PublishedAddresses {
		rows = append(rows, row{"connections", fmt.Sprintf("%s at %s, if the gateway routes %s/32 to %s", v.portsAt(a), a, a, v.n.NextHopVIP)})
	}
	if slices.Contains(v.n.Services, network.ServiceDNS) {
		rows = append(rows, row{"names", "those of the hosted cluster, at " + v.n.ServiceVIP.String() + "; all others are refused"})
	}
	return rows
}

func (v view) portsAt(a netip.Addr) string {
	var ports []string
	for _, l := range v.n.Listeners {
		if l.Address == a {
			ports = append(ports, fmt.Sprint(l.Port))
		}
	}
	return strings.Join(ports, ", ")
}
