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

// TestAConnectionWithoutAHelloIsSmall: a VM opens connections and sends nothing.
func TestAConnectionWithoutAHelloIsSmall(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	const count = 150 // below the share of a VM
	before := w.allocated(t)
	var all []net.Conn
	defer func() {
		for _, c := range all {
			_ = c.Close()
		}
	}()
	w.machine.Do(t, func() {
		for range count {
			c, err := net.DialTimeout("tcp4", onVLAN+":443", patient)
			if err != nil {
				t.Error(err)
				return
			}
			all = append(all, c)
		}
	})
	each := func() int { return (w.allocated(t) - before) / count }
	g.Eventually(each, patient, "50ms").Should(BeNumerically(">", 8<<10), "Envoy has accepted them")
	g.Expect(each()).To(BeNumerically("<", 16<<10))
}

// TestALongHello is read to its end.
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
