package envoy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/envoy/accesslog"
	"github.com/cldmnky/oooi/network"
)

// A log is what Envoy has reported.
type log struct {
	mu         sync.Mutex
	all, began []accesslog.Connection
}

func (l *log) use(c accesslog.Connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Began {
		l.began = append(l.began, c)
		return
	}
	l.all = append(l.all, c)
}

// begun is what has begun.
func (l *log) begun() []accesslog.Connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]accesslog.Connection{}, l.began...)
}

func (l *log) seen() []accesslog.Connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]accesslog.Connection{}, l.all...)
}

// reports starts what Envoy reports to.
func (w *world) reports(t *testing.T) *log {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	l, done := &log{}, make(chan error, 1)
	socket := listen(t, w.dirs.AccessLog())
	go func() { done <- accesslog.Serve(ctx, socket, l.use) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("access log: %v", err)
		}
	})
	return l
}

// logs makes Envoy serve blue with a level of its log.
func (w *world) logs(t *testing.T, level network.AccessLog, behind map[string][]netip.AddrPort) {
	t.Helper()
	n := blue()
	n.AccessLog = level
	w.serves(t, n, behind)
}

// TestAccessLog: each connection that ends is reported: its client, the name that it requested, and how it ended. That includes a name that
// no filter chain has.
func TestAccessLog(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	l := w.reports(t)
	w.logs(t, network.AccessLogAll, pods())
	for _, x := range []struct{ port, serverName string }{{"443", "oauth.blue.example.com"}, {"443", "other.example.com"}, {"6443", ""}} {
		_, _ = w.openssl(t, w.machine, onVLAN+":"+x.port, x.serverName)
	}
	none := pods()
	none[api.Name] = []netip.AddrPort{}
	w.logs(t, network.AccessLogAll, none)
	_, err := w.dial(t, onVLAN+":6443", "")
	g.Expect(err).To(HaveOccurred())
	g.Eventually(l.seen, patient).Should(HaveLen(4))
	by := map[string]accesslog.Connection{}
	for _, c := range l.seen() {
		g.Expect(c.Source.Addr()).To(Equal(netip.MustParseAddr("192.168.100.20")))
		g.Expect(c.Source.Port()).NotTo(BeZero())
		g.Expect(c.Duration).To(And(BeNumerically(">", 0), BeNumerically("<", time.Minute)))
		flags := c.Flags
		if !c.Failed() {
			flags = "" // Which side closes first, and how, is up to the programs.
		}
		by[c.Address.String()+" "+c.ServerName+" "+flags] = c
	}
	named := by[onVLAN+":443 oauth.blue.example.com "]
	g.Expect(named.Backend).To(Equal(oauth.Name))
	g.Expect(named.Upstream.String()).To(Equal("10.128.0.12:7443"))
	g.Expect(named.Received).To(BeNumerically(">", 200))
	g.Expect(named.Sent).To(BeNumerically(">", 500))
	refused, ok := by[onVLAN+":443 other.example.com NR"]
	g.Expect(ok).To(BeTrue(), "%v", by)
	g.Expect(refused.Backend).To(BeEmpty())
	g.Expect(refused.Upstream.IsValid()).To(BeFalse())
	g.Expect(by[onVLAN+":6443  "].Backend).To(Equal(api.Name), "the port of the API is not inspected")
	g.Expect(by).To(HaveKey(onVLAN+":6443  UH"), "no endpoint")
}

// TestBeginsAreReported: a connection to a backend that a boot needs is reported with the VM's address once it has reached the backend.
// That happens while it is open, and at each level. A connection that reaches no backend is not reported, and neither is one to another
// backend.
func TestBeginsAreReported(t *testing.T) {
	for _, level := range []network.AccessLog{network.AccessLogNone, network.AccessLogFailures, network.AccessLogAll} {
		t.Run(string(level), func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t)
			l := w.reports(t)
			none := pods()
			none[api.Name] = []netip.AddrPort{}
			w.logs(t, level, none)
			_, err := w.dial(t, onVLAN+":6443", "")
			g.Expect(err).To(HaveOccurred())
			w.logs(t, level, pods())
			_, err = w.dial(t, onVLAN+":443", "oauth.blue.example.com")
			g.Expect(err).NotTo(HaveOccurred())
			open, err := w.dial(t, onVLAN+":6443", "")
			g.Expect(err).NotTo(HaveOccurred())
			g.Eventually(l.begun, patient).Should(HaveExactElements(And(HaveField("Backend", api.Name), HaveField("Source.Addr()", netip.MustParseAddr("192.168.100.20")))))
			g.Expect(open.works()).To(Succeed())
			g.Expect(l.begun()).To(HaveLen(1))
		})
	}
}

// TestAccessLogLevelCutsNothing: a connection stays open while the level changes to each other level. No listener is replaced, and the
// level at the end of the connection decides.
func TestAccessLogLevelCutsNothing(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	l := w.reports(t)
	w.logs(t, network.AccessLogNone, pods())
	dial := func() *tunnel {
		u, err := w.dial(t, onVLAN+":443", "oauth.blue.example.com")
		g.Expect(err).NotTo(HaveOccurred())
		return u
	}
	refused := func() {
		_, err := w.dial(t, onVLAN+":443", "other.example.com")
		g.Expect(err).To(HaveOccurred())
	}
	stays := dial()
	updates := w.counter(t, "listener_manager.lds.update_success")
	end := func(u *tunnel) { _ = u.conn.Close() }
	allEnded := func() { // Before the level changes.
		g.Eventually(w.count, patient).WithArguments(t, "listener."+onVLAN+"_443.downstream_cx_active").Should(Equal(1))
	}
	end(dial())
	refused()
	allEnded()

	w.logs(t, network.AccessLogFailures, pods())
	g.Expect(stays.works()).To(Succeed())
	end(dial())
	refused()
	g.Eventually(l.seen, patient).ShouldNot(BeEmpty())
	allEnded()
	w.logs(t, network.AccessLogAll, pods())
	g.Expect(stays.works()).To(Succeed())
	end(stays)
	g.Eventually(l.seen, patient).Should(HaveLen(2), "nothing at level none, and no success at level failures")
	g.Expect(l.seen()[0].ServerName).To(Equal("other.example.com"))
	g.Expect(l.seen()[1].ServerName).To(Equal("oauth.blue.example.com"))

	w.logs(t, network.AccessLogNone, pods())
	g.Expect(w.counter(t, "listener_manager.lds.update_success")).To(Equal(updates), "no listener changes")
	g.Expect(w.counter(t, "listener_manager.listener_modified")).To(Equal("0"))
}

// TestAResetIsNoFailureAfterAnAnswer: programs that exit reset their connections, on the VM or in the backend. Only a backend that resets
// before it has sent anything has failed.
func TestAResetIsNoFailureAfterAnAnswer(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	l := w.reports(t)
	answers, fails := w.resets(t, "10.128.0.11:9443", "an answer\n"), w.resets(t, "10.128.0.14:9443", "")
	behind := pods()
	ask := func(b netip.AddrPort) (string, *net.TCPConn) {
		behind[api.Name] = []netip.AddrPort{b}
		w.logs(t, network.AccessLogFailures, behind)
		var c net.Conn
		var err error
		w.machine.Do(t, func() { c, err = net.DialTimeout("tcp4", onVLAN+":6443", patient) })
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = c.Close() })
		_, err = io.WriteString(c, "a question\n")
		g.Expect(err).NotTo(HaveOccurred())
		said, _ := bufio.NewReader(c).ReadString('\n')
		return said, c.(*net.TCPConn)
	}
	said, c := ask(answers)
	g.Expect(said).To(Equal("an answer\n"))
	_, _ = io.WriteString(c, "bye\n")
	_, err := c.Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred(), "the backend has reset")
	said, c = ask(answers)
	g.Expect(said).To(Equal("an answer\n"))
	g.Expect(c.SetLinger(0)).To(Succeed())
	g.Expect(c.Close()).To(Succeed(), "the VM resets")
	said, _ = ask(fails)
	g.Expect(said).To(BeEmpty())

	g.Eventually(l.seen, patient).Should(ContainElement(HaveField("Upstream", fails)))
	for _, c := range l.seen() {
		g.Expect(c.Failed()).To(Equal(c.Upstream == fails), "%+v", c)
	}
}

// resets takes connections at an address of the pods. It reads a line, answers, reads another and resets;
// without an answer, it resets after the first line.
func (w *world) resets(t *testing.T, at, answer string) netip.AddrPort {
	t.Helper()
	w.pods.Serve(t, at, func(c net.Conn) {
		lines := bufio.NewReader(c)
		_, _ = lines.ReadString('\n')
		if answer != "" {
			_, _ = io.WriteString(c, answer)
			_, _ = lines.ReadString('\n')
		}
		_ = c.(*net.TCPConn).SetLinger(0)
	})
	return netip.MustParseAddrPort(at)
}

// TestAccessLogNamesAreHarmless: a VM sends names that are not text, that end a line, or that are as long as Envoy
// takes. Its reports, and those after them, arrive.
func TestAccessLogNamesAreHarmless(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	l := w.reports(t)
	w.logs(t, network.AccessLogFailures, pods())
	names := []string{"a\nb.example.com", "\x1b[2J.example.com", "\xff\xfe.example.com", `x", "source": "10.0.0.1`, strings.Repeat("long.", 51)}
	for _, name := range append(names, "last.example.com") {
		w.hello(t, name)
	}
	var got []string
	g.Eventually(func() []string {
		got = nil
		for _, c := range l.seen() {
			got = append(got, c.ServerName)
		}
		return got
	}, patient).Should(And(HaveLen(len(names)+1), ContainElement("last.example.com")))
	for _, name := range got {
		g.Expect(len(name)).To(BeNumerically("<=", 258))
		g.Expect(name).To(MatchRegexp(`^[a-zA-Z0-9:_.*-]*$`))
	}
}

// hello sends a ClientHello with any name, which crypto/tls would not, and waits for the end.
func (w *world) hello(t *testing.T, name string) {
	t.Helper()
	u16 := func(b []byte) []byte { return append([]byte{byte(len(b) >> 8), byte(len(b))}, b...) }
	sni := u16(u16(append([]byte{0}, u16([]byte(name))...)))
	body := slices.Concat([]byte{3, 3}, make([]byte, 32), []byte{0}, u16([]byte{0x13, 1}), []byte{1, 0}, u16(append([]byte{0, 0}, sni...)))
	handshake := slices.Concat([]byte{1, 0}, u16(body))
	var c net.Conn
	var err error
	w.machine.Do(t, func() { c, err = net.DialTimeout("tcp4", onVLAN+":443", patient) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patient))
	if _, err := c.Write(append([]byte{22, 3, 1}, u16(handshake)...)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, c)
}
