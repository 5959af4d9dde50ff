package envoy

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
)

// counting is a pod that says hello, reads until the other side has said all,
// and then says how much that was.
func counting(t *testing.T, n *netns.Namespace, at netip.AddrPort) {
	t.Helper()
	n.Serve(t, at.String(), func(c net.Conn) {
		_, _ = io.WriteString(c, "hello\n")
		read, _ := io.Copy(io.Discard, c)
		_, _ = fmt.Fprintf(c, "%d\n", read)
	})
}

// TestBytesAreCarriedAsTheyAre: a server may send first, connections carry more bytes than any buffer, and one side may close while the
// other continues.
func TestBytesAreCarriedAsTheyAre(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	at := netip.MustParseAddrPort("10.128.0.14:9000")
	counting(t, w.pods, at)
	w.serves(t, blue(), map[string][]netip.AddrPort{api.Name: {at}})
	var c net.Conn
	var err error
	w.machine.Do(t, func() { c, err = net.Dial("tcp4", onVLAN+":6443") })
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(60 * time.Second))
	hello := make([]byte, 6)
	_, err = io.ReadFull(c, hello)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(hello)).To(Equal("hello\n"))
	const size = 8 << 20
	n, err := c.Write(make([]byte, size))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n).To(Equal(size))
	g.Expect(c.(*net.TCPConn).CloseWrite()).To(Succeed())
	g.Expect(io.ReadAll(c)).To(BeEquivalentTo(fmt.Sprintf("%d\n", size)))
}

// TestMoreConnectionsThanEnvoyGivesByItself: Envoy's default limit is 1,024 connections to one backend, and a cluster of some hundred VMs
// needs more.
func TestMoreConnectionsThanEnvoyGivesByItself(t *testing.T) {
	g := NewWithT(t)
	w := newWorldWith(t, 0, 0)
	at := netip.MustParseAddrPort("10.128.0.14:9000")
	counting(t, w.pods, at)
	w.serves(t, blue(), map[string][]netip.AddrPort{api.Name: {at}})
	var all []net.Conn
	t.Cleanup(func() {
		for _, c := range all {
			_ = c.Close()
		}
	})
	other := netns.New(t)
	w.vlan.Attach(t, other, "eth0", "", "192.168.100.30/24")
	for _, vm := range []*netns.Namespace{w.machine, other} { // A VM alone has a share.
		vm.Do(t, func() {
			for range 550 {
				c, err := net.Dial("tcp4", onVLAN+":6443")
				if err != nil {
					t.Error(err)
					return
				}
				all = append(all, c)
			}
		})
	}
	for i, c := range all {
		_ = c.SetDeadline(time.Now().Add(60 * time.Second))
		_, err := io.ReadFull(c, make([]byte, 6))
		g.Expect(err).NotTo(HaveOccurred(), "connection %d", i)
	}
}
