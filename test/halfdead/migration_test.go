// This file moves a VM to another node while it has connections through an edge, and counts what each connection gets.

package halfdead

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/hostile"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// Whether the network hears that a VM is on another node.
const announced, unannounced = true, false

// everyone is the broadcast address of Ethernet.
const everyone = "ff:ff:ff:ff:ff:ff"

// migrate moves the first VM to the other node. The bridges learn that when the VM sends. If it is announced, the VM says
// which address it has, as guests do when they run at the target.
func (s *site) migrate(announced bool) {
	s.Helper()
	v := s.vms[0].Namespace
	s.nodes[0].Move(s, v, net1, s.nodes[1])
	s.nodes[0], s.nodes[1] = s.nodes[1], s.nodes[0]
	if !announced {
		return
	}
	vm := netip.MustParseAddr(vmAddress(0))
	s.broadcast(v, hostile.ARP, hostile.ARPReply(mac(vmMAC(0)), vm, mac(everyone), vm))
}

// broadcast sends a packet from the first VM's MAC to all hosts, from a device named net1.
func (s *site) broadcast(from *netns.Namespace, kind uint16, packet []byte) {
	s.Helper()
	var err error
	from.Do(s, func() {
		var port *hostile.Port
		if port, err = hostile.Open(net1); err == nil {
			defer port.Close()
			err = port.Send(mac(vmMAC(0)), mac(everyone), kind, packet)
		}
	})
	s.g.Expect(err).NotTo(HaveOccurred())
}

func mac(text string) net.HardwareAddr {
	m, err := net.ParseMAC(text)
	if err != nil {
		panic(err)
	}
	return m
}

// An ear is a port of a node, and hears what the bridges send there.
type ear struct {
	*netns.Namespace
	*hostile.Port
}

// hear adds an ear with a MAC to a node.
func (s *site) hear(node *netns.Segment, mac string) ear {
	s.Helper()
	e, err := ear{Namespace: netns.New(s)}, error(nil)
	node.Attach(s, e.Namespace, net1, mac)
	e.Do(s, func() { e.Port, err = hostile.Open(net1) })
	s.g.Expect(err).NotTo(HaveOccurred())
	return e
}

// leave removes the ear's port.
func (e ear) leave(s *site) {
	s.Helper()
	e.Close()
	e.Run(s, "ip", "link", "delete", net1)
}

// misses does something again and again until the ear hears what is on its way to the first VM.
func (s *site) misses(e ear, do func()) {
	s.Helper()
	vm, heard := netip.MustParseAddr(vmAddress(0)), make(chan error, 1)
	go func() {
		_, err := e.Until(func(p []byte) bool { return hostile.Destination(p) == vm })
		heard <- err
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		do()
		select {
		case err := <-heard:
			s.g.Expect(err).NotTo(HaveOccurred(), "all traffic reaches the VM")
			return
		case <-tick.C:
		}
	}
}

// showMAC has the target of a migration show the MAC of the first VM, which still runs at the source: the pod's kernel
// does if its interface is up.
func (s *site) showMAC() (end func()) {
	s.Helper()
	target := s.hear(s.nodes[1], vmMAC(0))
	s.show(target)
	return func() { s.Helper(); target.leave(s) }
}

// show sends one frame with the first VM's MAC from the ear.
func (s *site) show(e ear) {
	s.Helper()
	const experimental = 0x88b5 // an Ethernet type of IEEE 802
	s.broadcast(e.Namespace, experimental, make([]byte, 46))
}

// lease returns the address that DHCP gives the first VM. It changes nothing in the VM.
func (s *site) lease() string {
	s.Helper()
	got := filepath.Join(shared(s), "address")
	script := programs.WriteFile(s, shared(s), "script", "#!/bin/sh\n[ \"$1\" != bound ] || echo $ip >"+got+"\n")
	s.g.Expect(os.Chmod(script, 0o755)).To(Succeed())
	s.vms[0].Run(s, "udhcpc", "-f", "-n", "-q", "-t", "60", "-T", "1", "-i", net1, "-s", script)
	text, err := os.ReadFile(got)
	s.g.Expect(err).NotTo(HaveOccurred(), "no lease")
	return strings.TrimSpace(string(text))
}

// TestMigration: a VM with a hundred connections through an edge migrates. Each connection stays open and loses
// nothing, however late the network learns where the VM is. The VM keeps its lease, and no edge mistakes it for a fault.
func TestMigration(t *testing.T) {
	netns.Require(t, "nft", "setpriv", "mount", "udhcpc")
	s := newSite(t, newBuild(t, "now", programs.RequireOwn(t, wire.Program)), row{on: []int{1}, migrates: true})
	v := s.newVM(1, false)
	lease, announcements := s.lease(), s.announcements()
	const connections = 100
	c := s.converse(v, connections)
	for _, row := range []struct {
		name string
		// move moves the VM, with whatever comes before and after.
		move func()
	}{
		{"the VM migrates", func() { s.migrate(announced) }},
		{"the target shows the VM's MAC early", func() {
			target := s.hear(s.nodes[1], vmMAC(0))
			resume := c.pause()
			speaks := func() {}
			if programs.Long() { // Its TCP is silent, so only ARP shows where the VM is.
				speaks = s.nodes[0].DropFrom(s, v.Namespace, net1, "ip protocol tcp")
			}
			s.misses(target, func() { s.show(target); s.talks.push() })
			if programs.Long() {
				began := time.Now()
				c.hearsAll()
				s.Logf("a VM that only listens heard nothing for %d ms", time.Since(began).Milliseconds())
			}
			speaks()
			resume()
			c.settles()
			s.migrate(announced)
			target.leave(s)
		}},
		{"the announcement is lost", func() {
			source := s.hear(s.nodes[0], "")
			resume := c.pause()
			s.migrate(unannounced)
			s.misses(source, s.talks.push)
			resume()
			c.settles()
			source.leave(s)
		}},
		{"the VM migrates ten times in succession", func() {
			for range 10 {
				s.migrate(announced)
			}
		}},
	} {
		c.forgetSilence()
		row.move()
		c.settles()
		s.Logf("%s: no connection was silent for more than %d ms", row.name, c.silence().Milliseconds())
		s.g.Expect(s.lease()).To(Equal(lease), row.name)
		s.g.Expect(s.edges[1].ns.Neighbour(s, net1, vmAddress(0))).To(Equal(vmMAC(0)), row.name)
		s.g.Expect(s.announcements()).To(Equal(announcements), "%s: an edge announced", row.name)
	}
	c.end()
	s.g.Expect(s.talks.count()).To(Equal(connections), "connections that the server had")
	s.g.Eventually(s.vms[0].Neighbour, patience.Limit).WithArguments(s, net1, nextHop).Should(Equal(s.edges[1].ns.MAC(s, net1)))
}
