// This file holds the names and labels of a DHCP lease's object.

package wire

import (
	"net/netip"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// DHCPLeases is the prefix of every DHCP lease object's name.
const DHCPLeases = "oooi."

// longestName is the limit for the name of a Kubernetes object, in characters.
const longestName = 253

// LeaseName returns "oooi.<network>.<address>", at most 253 characters.
func LeaseName(networkName string, a netip.Addr) string {
	return network.Shortened(DHCPLeases+networkName, longestName-len(".255.255.255.255")) + "." + a.String()
}

// LeaseAddress returns the address in a LeaseName. The address is only in the object's name, which
// is unique, so no address can be assigned twice.
func LeaseAddress(objectName string) (netip.Addr, error) {
	parts := strings.Split(objectName, ".")
	return netip.ParseAddr(strings.Join(parts[max(0, len(parts)-4):], "."))
}

// LeaseLabels returns the labels of a network's DHCP leases.
func LeaseLabels(networkName string) map[string]string {
	out := NamedLabels(NameDHCP)
	out[LabelNetwork] = NetworkLabel(networkName)
	return out
}
