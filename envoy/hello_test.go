package envoy

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// allocated is the memory that Envoy has in use, in bytes.
func (w *world) allocated(t *testing.T) int {
	t.Helper()
	g := NewWithT(t)
	var memory struct{ Allocated string }
	g.Expect(json.Unmarshal(w.get(t, "/memory"), &memory)).To(Succeed())
	n, err := strconv.Atoi(memory.Allocated)
	g.Expect(err).NotTo(HaveOccurred())
	return n
}

// TestAConnectionWithoutAHelloIsSmall: connections on which a VM sends nothing use little memory.
func TestAConnectionWithoutAHelloIsSmall(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	const count = 150 // below the share of a VM
	ended := func() string { return w.counter(t, "listener."+onVLAN+"_443.downstream_pre_cx_timeout") }
	g.Eventually(func() (each int) {
		already, before := ended(), w.allocated(t)
		for _, c := range open(t, w.machine, onVLAN+":443", count) {
			defer func() { _ = c.Close() }()
		}
		for each <= 8<<10 && ended() == already { // Envoy ends those that say nothing for a while.
			each = (w.allocated(t) - before) / count
		}
		g.Expect(each).To(BeNumerically("<", 16<<10))
		return each
	}, patient).Should(BeNumerically(">", 8<<10), "Envoy has accepted them")
}

// TestALongHello: Envoy reads a long ClientHello to its end.
func TestALongHello(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	var c net.Conn
	var err error
	w.machine.Do(t, func() { c, err = net.DialTimeout("tcp4", onVLAN+":443", patient) })
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patient))
	config := &tls.Config{ServerName: "oauth.blue.example.com", InsecureSkipVerify: true}
	for i := range 40 {
		config.NextProtos = append(config.NextProtos, strconv.Itoa(i)+strings.Repeat("x", 200))
	}
	hello, err := bufio.NewReader(tls.Client(c, config)).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hello).To(HavePrefix("oauth"))
}
