// This file is a network of OVN-Kubernetes on three nodes.

package networks

import (
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// An ovn is one network of OVN-Kubernetes.
type ovn struct {
	t        *testing.T
	topology topology
	segment  *netns.Segment
	zones    map[string]*zone
	keys     int
}

// nodes are the names of all nodes.
func nodes() []string { return []string{"a", "b", "c"} }

func newOVN(t *testing.T, n topology) *ovn {
	t.Helper()
	var programs []string
	for _, p := range ovnPrograms() {
		programs = append(programs, filepath.Join(ovnRoot(), "usr", p))
	}
	netns.Require(t, append(programs, "ethtool")...)
	o := &ovn{t: t, topology: n, segment: netns.NewSegment(t), zones: map[string]*zone{}}
	for i, name := range nodes() {
		o.zones[name] = newZone(t, o.segment, name, fmt.Sprintf("10.0.0.%d", 1+i))
	}
	for _, z := range o.zones {
		for _, other := range o.zones {
			if other != z {
				z.sbctl("chassis-add", other.name, "geneve", other.address, "--", "set", "chassis", other.name, "other_config:is-remote=true")
			}
		}
		z.nbctl(n.switchOf()...)
	}
	return o
}

func (o *ovn) config() string {
	return fmt.Sprintf(`{"cniVersion":"1.0.0","name":"tenant","type":"ovn-k8s-cni-overlay","topology":%q,"netAttachDefName":"clusters/vlan100"}`, o.topology)
}

func (o *ovn) node(name string) *netns.Namespace { return o.zones[name].Namespace }

func (o *ovn) lose(node string) { o.segment.Pull(o.t, o.node(node), uplink) }

// join is the CNI plugin of OVN-Kubernetes, and what its other parts write for the pod.
func (o *ovn) join(ns *netns.Namespace, node, device, mac string, ips []netip.Prefix) (forget func()) {
	o.t.Helper()
	o.keys++
	p := logicalPort{name: fmt.Sprintf("port%d", o.keys), key: o.keys, node: node, mac: macOf(mac, ips, o.keys), ips: ips}
	var with []*zone
	for _, name := range slices.Sorted(maps.Keys(o.zones)) {
		z := o.zones[name]
		if commands := o.topology.written(name, p); commands != nil {
			z.nbctl(commands...)
			with = append(with, z)
		}
	}
	for _, z := range with {
		if z.name != node {
			z.bindRemote(p)
		}
	}
	o.zones[node].plug(ns, device, p.mac, p.name)
	for _, a := range ips {
		ns.Address(o.t, device, a.String())
	}
	return func() {
		for _, z := range with {
			z.nbctl("--if-exists", "lsp-del", p.name)
		}
	}
}

// bindRemote is what OVN-Kubernetes does once northd has the port (zone_interconnect/zone_ic_handler.go).
// It needs the identifiers that OVN gave, so it is not in the table of ports_test.go.
func (z *zone) bindRemote(p logicalPort) {
	z.t.Helper()
	idOf := func(table, condition string) string {
		return z.sbctl("--bare", "--columns=_uuid", "find", table, condition)
	}
	NewWithT(z.t).Eventually(func() string { return idOf("port_binding", "logical_port="+p.name) }, patience.Limit, "10ms").ShouldNot(BeEmpty())
	z.sbctl("set", "port_binding", p.name, "chassis="+idOf("chassis", "name="+p.node))
}

// answersWith lists the flows of the node's OVN that answer ARP requests with a MAC.
func (o *ovn) answersWith(node, mac string) (flows []string) {
	o.t.Helper()
	for line := range strings.Lines(o.zones[node].sbctl("--bare", "--columns=match,actions", "find", "logical_flow", "pipeline=ingress")) {
		if strings.Contains(line, "arp.op = 2") && strings.Contains(line, mac) {
			flows = append(flows, line)
		}
	}
	return flows
}
