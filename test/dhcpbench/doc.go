// Package dhcpbench compares DHCP servers in network namespaces: ours, with leases in a real API
// server, Kea, dnsmasq and coredhcp. One run measures them alternately, so that ratios hold on a
// busy host. `make bench-dhcp` runs it.
//
// A Farm is the clients. It sends and receives whole frames on one interface, as VMs on one bridge do.
package dhcpbench
