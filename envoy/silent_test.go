package envoy

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/test/netns"
)

// helloTimeout is how long a client may take to send its server name.
const helloTimeout = 5 * time.Second

// TestConnectionsThatSendNothing: a VM continuously opens connections and sends no ClientHello. It gets no more than its share, plus what
// it opens until its connections are counted. Another VM is served all the time.
func TestConnectionsThatSendNothing(t *testing.T) {
	nothing := func([]net.Conn) {}
	t.Run("with one MAC", func(t *testing.T) { testSilent(t, func(*world) {}, nothing) })
	t.Run("with another MAC than in its ARP replies", func(t *testing.T) {
		testSilent(t, func(w *world) {
			w.machine.SetNeighbour(t, "eth0", onVLAN, w.edge.MAC(t, "net1"), true)
			w.vlan.Attach(t, w.machine, "eth1", "")
			for key, value := range map[string]string{"all/arp_ignore": "0", "all/rp_filter": "0", "eth0/rp_filter": "0", "eth1/rp_filter": "0", "eth0/arp_ignore": "8"} {
				w.machine.Sysctl(t, "net/ipv4/conf/"+key, value)
			}
		}, nothing)
	})
	t.Run("but pieces of one byte", func(t *testing.T) {
		hello, sent := longHello(t), map[net.Conn]int{}
		testSilent(t, func(*world) {}, func(all []net.Conn) {
			for range 20 {
				for _, c := range all {
					if _, err := c.Write(hello[sent[c] : sent[c]+1]); err == nil {
						sent[c]++
					}
				}
			}
		})
		most, pieces := 0, 0
		for _, n := range sent {
			most, pieces = max(most, n), pieces+n
		}
		t.Logf("%d pieces, at most %d of %d bytes in one connection", pieces, most, len(hello))
	})
}

// longHello returns a ClientHello that Envoy accepts, nearly as long as any.
func longHello(t *testing.T) []byte {
	t.Helper()
	client, server := net.Pipe()
	config := &tls.Config{ServerName: "oauth.blue.example.com", InsecureSkipVerify: true}
	for i := range 70 {
		config.NextProtos = append(config.NextProtos, strconv.Itoa(i)+strings.Repeat("x", 200))
	}
	go func() { _ = tls.Client(client, config).HandshakeContext(t.Context()) }()
	defer func() { _, _ = client.Close(), server.Close() }()
	hello := make([]byte, 16<<10)
	n, err := server.Read(hello)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return hello[:n]
}

// testSilent: prepare changes the VM before the test. Say is called again and again with the VM's open connections.
func testSilent(t *testing.T, prepare func(*world), say func([]net.Conn)) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	prepare(w)
	other := netns.New(t)
	w.vlan.Attach(t, other, "eth0", "", "192.168.100.30/24")
	ctx, cancel := context.WithCancel(t.Context())
	opened, flood := 0, make(chan struct{})
	go func() {
		defer close(flood)
		var all []net.Conn
		for ctx.Err() == nil {
			all = append(all, open(t, w.machine, onVLAN+":443", 500)...)
			opened += 500
			say(all)
			all = slices.DeleteFunc(all, closed)
		}
	}()
	began, most := time.Now(), 0
	for time.Since(began) < 2*helloTimeout {
		g.Expect(w.named(t, other)).To(Succeed())
		most = max(most, strings.Count(w.edge.Run(t, "ss", "-Htnp", "state", "established", "sport", "=", ":443"), `"envoy"`))
	}
	cancel()
	<-flood
	share := w.limits.Share(true)
	t.Logf("%d opened, Envoy had at most %d of %d, the share is %d, %v were refused", opened, most, w.limits.Others(), share, denied(w.gate))
	g.Expect(most).To(BeNumerically(">=", resources.Enough(share)))
	g.Expect(denied(w.gate)).To(BeNumerically(">", 0), "what is above the share")
	g.Expect(most).To(BeNumerically("<", w.limits.Others()/2), "how many open until they are counted depends on the machine")
}

// named returns nil if a connection from another VM is carried by its server name.
func (w *world) named(t *testing.T, from *netns.Namespace) error {
	t.Helper()
	var c net.Conn
	var err error
	from.Do(t, func() { c, err = net.DialTimeout("tcp4", onVLAN+":443", servedWithin()) })
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(servedWithin()))
	return tls.Client(c, &tls.Config{ServerName: "oauth.blue.example.com", InsecureSkipVerify: true}).HandshakeContext(t.Context())
}
