// This file holds how a DHCP lease is named as a Lease object.

package wire

import (
	"net/netip"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// DHCPLeases is the start of the name of every DHCP lease's object.
const DHCPLeases = "oooi."

// longestName of a Kubernetes object, in characters.
const longestName = 253

// LeaseName is "oooi.<network>.<address>", at most 253 characters.
func LeaseName(networkName string, a netip.Addr) string {
	return network.Shortened(DHCPLeases+networkName, longestName-len(".255.255.255.255")) + "." + a.String()
}

// LeaseAddress reads the address back from LeaseName. Nothing else of the object
// says which address it stands for, so no address can be assigned twice.
func LeaseAddress(objectName string) (netip.Addr, error) {
	parts := strings.Split(objectName, ".")
	return netip.ParseAddr(strings.Join(parts[max(0, len(parts)-4):], "."))
}

// LeaseLabels are on the objects of a network's DHCP leases.
func LeaseLabels(networkName string) map[string]string {
	out := NamedLabels(NameDHCP)
	out[LabelNetwork] = NetworkLabel(networkName)
	return out
}
