// The LAN: a bridge, and access ports of its VLANs. Addresses are the caller's.

package testbed

import (
	"context"
	"errors"
	"net"
)

// PlugVLAN puts an interface into the network namespace at path netns whose other
// end is an access port of the LAN: tagged with vlan there (1 to 4094; 0 means
// untagged). The interface is up, without addresses. mac nil leaves it to the kernel.
func (c *Cluster) PlugVLAN(ctx context.Context, netns, ifname string, vlan int, mac net.HardwareAddr) error {
	return errors.New("not built yet")
}
