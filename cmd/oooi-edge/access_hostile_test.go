package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// TestAccessWithHostileCallers: 2,000 callers of one address, which send no request, cost little memory. Each is answered with 4xx
// or closed, also those whose header would take a quarter of an hour, and meanwhile another caller gets each tunnel that it asks for.
func TestAccessWithHostileCallers(t *testing.T) {
	g, d := NewWithT(t), newDoor(t)
	d.pod.Address(t, "eth0", "10.128.0.9/24")
	d.machine.Serve(t, "0.0.0.0:10250", tells("kubelet"))
	c := command(t, d.edge, d.args()...)
	c.Stdout, c.Stderr = io.Discard, io.Discard
	programs.Start(t, c)
	honest := func() string {
		c, err := through(t, from(t, d.pod, "10.128.0.9"), atEdge, "worker-1:10250")
		return said(c, err)
	}
	g.Eventually(honest).Should(Equal("kubelet for 192.168.100.4"))
	_, before, err := programs.PSS(c.Process.Pid)
	g.Expect(err).NotTo(HaveOccurred())

	const request = "CONNECT worker-1:10250 HTTP/1.1\r\nHost: x\r\n"
	kinds := []struct {
		name, sends string
		slowly      bool
	}{
		{"silent", "", false},
		{"a header byte a second", request + "X: " + strings.Repeat("x", 1000), true},
		{"9 KiB of header", request + "X: " + strings.Repeat("x", 9<<10), false},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", false},
		{"content behind a refused request", "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n" + strings.Repeat("x", 20<<10), false},
	}
	const callers = 2000
	type outcome struct{ kind, answer string }
	outcomes := make(chan outcome, callers)
	var calling sync.WaitGroup
	dial := from(t, d.pod, "10.128.0.1")
	for i := range callers {
		kind := kinds[i%len(kinds)]
		conn, err := dial(t.Context(), "tcp", atEdge)
		g.Expect(err).NotTo(HaveOccurred())
		calling.Go(func() {
			defer func() { _ = conn.Close() }()
			outcomes <- outcome{kind.name, offend(conn, kind.sends, kind.slowly)}
		})
		if i%100 == 0 {
			g.Expect(honest()).To(Equal("kubelet for 192.168.100.4"), "after %d callers", i)
		}
	}
	_, full, err := programs.PSS(c.Process.Pid)
	g.Expect(err).NotTo(HaveOccurred())
	calling.Wait()
	close(outcomes)
	got := map[string]int{}
	for o := range outcomes {
		got[o.kind+": "+o.answer]++
		g.Expect(o.answer).To(Or(BeEmpty(), HavePrefix("HTTP/1.1 4")), o.kind)
	}
	t.Logf("%d KiB before, %d KiB with callers: %v", before>>10, full>>10, got)
	g.Expect(full - before).To(BeNumerically("<", 32<<20))
	g.Expect(got).To(HaveKey("TLS: HTTP/1.1 400 Bad Request"))
	g.Expect(got).To(HaveKey("9 KiB of header: HTTP/1.1 431 Request Header Fields Too Large"))
	g.Expect(honest()).To(Equal("kubelet for 192.168.100.4"))
}

// offend sends what is not a request, and returns the first line of the answer, empty if there is none, once the connection ended.
func offend(c net.Conn, sends string, slowly bool) string {
	_ = c.SetDeadline(time.Now().Add(patience.Limit))
	if slowly {
		go func() {
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for i := range len(sends) {
				if _, err := c.Write([]byte{sends[i]}); err != nil {
					return
				}
				<-tick.C
			}
		}()
	} else {
		_, _ = io.WriteString(c, sends)
	}
	b, err := io.ReadAll(c)
	if os.IsTimeout(err) {
		return "it stays open"
	}
	first, _, _ := bytes.Cut(b, []byte("\r\n"))
	return string(first)
}

// TestAccessToAStalledVM: a VM that accepts and never reads stalls its own tunnels only. They are open to the end of the test.
func TestAccessToAStalledVM(t *testing.T) {
	g, d := NewWithT(t), newDoor(t)
	d.machine.Serve(t, "0.0.0.0:22", func(net.Conn) { <-t.Context().Done() })
	d.machine.Serve(t, "0.0.0.0:10250", tells("kubelet"))
	start(t, d.edge, d.args()...)
	g.Eventually(func() string { return asked(t, d.pod, atEdge, "worker-1:10250") }).Should(Equal("kubelet for 192.168.100.4"))
	for range 8 {
		c, err := through(t, from(t, d.pod, ""), atEdge, "worker-1:22")
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = c.Close() }()
		_ = c.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)) // It passes in any case.
		_, err = io.Copy(c, endless{})
		g.Expect(err).To(MatchError(os.ErrDeadlineExceeded), "it is stalled")
	}
	for range 20 {
		g.Expect(asked(t, d.pod, atEdge, "worker-1:10250")).To(Equal("kubelet for 192.168.100.4"))
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// TestAccessEnds: an access proxy that is told to stop ends although a tunnel is open, and resets it.
func TestAccessEnds(t *testing.T) {
	g, d := NewWithT(t), newDoor(t)
	d.open(t, network.AccessDestination{Name: "nodes", Port: 22})
	d.machine.Serve(t, "0.0.0.0:22", func(c net.Conn) { _, _ = io.Copy(c, c) })
	p, stop := startUntil(t, d.edge, d.args()...)
	var c net.Conn
	g.Eventually(func() (err error) {
		c, err = through(t, from(t, d.pod, ""), atEdge, "worker-1:22")
		return err
	}).Should(Succeed())
	defer func() { _ = c.Close() }()
	stop()
	_, err := c.Read(make([]byte, 1))
	g.Expect(fmt.Sprint(err)).To(ContainSubstring("reset"))
	g.Expect(p.String()).To(ContainSubstring(`"end":"stopped"`))
}
