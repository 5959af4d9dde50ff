package envoy

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/envoy/gate"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

// flood is a backend that sends without an end, and its port.
var flood = network.Backend{Name: "flood:9000", Service: "flood", Port: 9000}

const (
	floodPort = onVLAN + ":9000"
	floodPod  = "10.128.0.14:9000"
)

// greedy is blue with a port whose backend is flood, and where all backends are.
func (w *world) greedy(t *testing.T) (network.Network, map[string][]netip.AddrPort) {
	t.Helper()
	n, at := blue(), pods()
	n.Backends = append(n.Backends, flood)
	n.Listeners = append(n.Listeners, network.Listener{Address: service, Port: 9000, Default: flood.Name})
	at[flood.Name] = []netip.AddrPort{netip.MustParseAddrPort(floodPod)}
	w.pods.Serve(t, floodPod, func(c net.Conn) {
		var err error
		for b := make([]byte, 64<<10); err == nil; {
			_, err = c.Write(b)
		}
	})
	return n, at
}

// open opens connections from n, which sends and reads nothing. They stay until the test ends. It
// does not wait for any of them.
func open(t *testing.T, n *netns.Namespace, at string, count int) []net.Conn {
	t.Helper()
	return openFrom(t, n, "", at, count)
}

// openFrom is open with an address of n. Empty: the kernel chooses.
func openFrom(t *testing.T, n *netns.Namespace, source, at string, count int) (all []net.Conn) {
	t.Helper()
	d := net.Dialer{Timeout: time.Second} // The kernel may drop it.
	if source != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	n.Do(t, func() {
		for range count {
			if c, err := d.Dial("tcp4", at); err == nil {
				all = append(all, c)
			}
			if len(all)%1_000 == 999 { // The VM's own files end, too.
				all = slices.DeleteFunc(all, closed)
			}
		}
	})
	t.Cleanup(func() {
		for _, c := range all {
			_ = c.Close()
		}
	})
	return all
}

// closed reports whether the peer has closed c, and closes it then.
func closed(c net.Conn) (over bool) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		over = err == nil && n == 0 || errors.Is(err, unix.ECONNRESET)
	})
	if over {
		_ = c.Close()
	}
	return over
}

// strict reports whether nothing else runs on the machine, so that bounds are those of docs/performance.md. `make test-long` and `make soak` set it.
func strict() bool { return os.Getenv("OOOI_GREEDY") != "" }

// servedWithin is how long another VM may wait for its connection.
func servedWithin() time.Duration {
	if strict() {
		return time.Second
	}
	return patient
}

// alive fails the test if Envoy does not serve another VM's API connection.
func (w *world) alive(t *testing.T, from *netns.Namespace) {
	t.Helper()
	g, due := NewWithT(t), time.Now().Add(servedWithin())
	var c net.Conn
	var err error
	from.Do(t, func() { c, err = (&net.Dialer{Deadline: due}).Dial("tcp4", onVLAN+":6443") })
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(due)
	hello, err := bufio.NewReader(tls.Client(c, &tls.Config{InsecureSkipVerify: true})).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hello).To(HavePrefix("kube-apiserver"))
}

// TestFilesDoNotEnd: a VM opens more connections than Envoy has file descriptors for. Envoy keeps running, and the ports of the API server
// still accept connections.
func TestFilesDoNotEnd(t *testing.T) {
	g := NewWithT(t)
	const files = 1_000
	w := newWorldWith(t, 0, files)
	n, at := w.greedy(t)
	w.serves(t, n, at)
	w.stopGate() // Then no source has a share.
	allowed := int(resources.NewLimits(0, files).Others())
	open(t, w.machine, floodPort, files)
	g.Eventually(func() string { return w.counter(t, "listener."+onVLAN+"_9000.downstream_cx_active") }, patient).Should(Equal(strconv.Itoa(allowed)))
	w.alive(t, w.machine)
	open(t, w.machine, onVLAN+":6443", files)
	g.Eventually(func() string { return w.counter(t, "listener."+onVLAN+"_6443.downstream_cx_active") }, patient).
		Should(Equal(strconv.Itoa(int(resources.NewLimits(0, files).API()))))
	families, err := w.admin.Metrics(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(families).To(ContainElement(HaveField("Name", HaveValue(Equal("envoy_connection_limit_192_168_100_3_6443_limited_connections")))))
	g.Expect(w.admin.Serves(t.Context(), nil)).To(Succeed())
}

// TestAShareForEachVM: a VM with several addresses has one share at the ports of the API server and one at the others. Another VM has its
// own shares. While a VM uses its whole share at other ports, it still reaches the API server. After a VM has closed connections, it can
// open as many again.
func TestAShareForEachVM(t *testing.T) {
	g := NewWithT(t)
	w := newWorldWith(t, 0, 1_000)
	share := int(w.limits.Share(true))
	n, at := w.greedy(t)
	w.serves(t, n, at)
	w.machine.Address(t, "eth0", "192.168.100.21/24")
	w.machine.Address(t, "eth0", "192.168.100.22/24")
	other := netns.New(t)
	w.vlan.Attach(t, other, "eth0", "", "192.168.100.30/24")
	active := func(at string) int {
		return w.count(t, "listener."+strings.ReplaceAll(at, ":", "_")+".downstream_cx_active")
	}
	var all []net.Conn
	refused := func() int { return int(denied(w.gate)) }
	for _, to := range []string{floodPort, onVLAN + ":6443"} {
		before, tried, unansweredBefore := refused(), 0, w.unanswered(t)
		unanswered := func() int { return w.unanswered(t) - unansweredBefore }
		for _, source := range []string{"192.168.100.20", "192.168.100.21", "192.168.100.22"} {
			all = append(all, openFrom(t, w.machine, source, to, share*2/3)...)
			tried += share * 2 / 3
		}
		g.Eventually(func() error { // The kernel resets some before they are open. What is denied too late is carried, too.
			carried, refused := active(to), refused()-before
			if twice := carried + refused - tried; twice < 0 || twice > unanswered() {
				return fmt.Errorf("%s: of %d connections, Envoy has %d, %d without an answer, and %d are refused", to, tried, carried, unanswered(), refused)
			}
			return nil
		}, patient).Should(Succeed())
		w.decided(t, strings.TrimPrefix(to, onVLAN+":"))
		g.Eventually(func() int { return active(to) - unanswered() }, patient).Should(BeNumerically("<=", share), to)
		g.Expect(active(to)).To(BeNumerically(">=", int(resources.Enough(uint32(share)))), to)
		w.alive(t, other)
		if to == floodPort {
			w.alive(t, w.machine)
		}
	}
	for _, c := range all {
		g.Expect(c.Close()).To(Succeed())
	}
	g.Eventually(active, patient).WithArguments(floodPort).Should(BeZero())
	for range share / 2 {
		g.Eventually(func() []net.Conn { return carried(open(t, w.machine, floodPort, 1)) }, patient).Should(HaveLen(1))
	}
}

// TestOneVMDoesNotKillEnvoy: on a loaded edge, two VMs open connections on which neither side reads, and then idle ones to
// the API server. Envoy and its sockets stay within their memory, and another VM is served all the time. With OOOI_GREEDY the
// other VM waits for one second at most.
func TestOneVMDoesNotKillEnvoy(t *testing.T) {
	g := NewWithT(t)
	const memory, files = 512 << 20, 20_000
	// As many idle ones as the listener has room for, also where a busy machine lets the gate count late.
	slow, idle := 1_500, 600
	if strict() {
		slow, idle = 5_500, 30_000
	}
	w := newWorldWith(t, memory, files)
	peak := w.confine(t, memory)
	n, at := w.greedy(t)
	w.serves(t, n, at)
	quiet := w.beyond(t, int(w.limits.API())*3/4, int(w.limits.Share(true))/2)
	other, accomplice := netns.New(t), netns.New(t)
	w.vlan.Attach(t, other, "eth0", "", "192.168.100.30/24")
	w.vlan.Attach(t, accomplice, "eth0", "", "192.168.100.31/24")
	before := peak()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var both sync.WaitGroup
		for _, vm := range []*netns.Namespace{w.machine, accomplice} {
			both.Go(func() {
				for range slow / 100 {
					fill(t, open(t, vm, floodPort, 100))
				}
			})
		}
		both.Wait()
		open(t, w.machine, onVLAN+":6443", idle)
	}()
	defer func() { <-ended }()
	for waits := true; waits; {
		select {
		case <-ended:
			waits = false
		case <-time.After(50 * time.Millisecond):
		}
		w.alive(t, other)
	}
	t.Logf("%d idle connections took up to %d MiB. With two VMs of %d it was %d MiB of %d, %v were denied",
		len(quiet), before>>20, w.limits.Share(true), peak()>>20, memory>>20, denied(w.gate))
	g.Expect(peak()).To(BeNumerically("<", memory))
}

// beyond opens idle connections to the API server, from hosts beyond the gateway. Each has some.
func (w *world) beyond(t *testing.T, all, each int) (out []net.Conn) {
	t.Helper()
	hosts := netns.New(t)
	w.vlan.Attach(t, hosts, "eth0", "", "192.168.100.254/24")
	w.edge.Route(t, "198.18.0.0/16", "192.168.100.254")
	for i := 0; len(out) < all; i++ {
		host := netip.AddrFrom4([4]byte{198, 18, byte(i / 250), byte(1 + i%250)}).String()
		hosts.Address(t, "eth0", host+"/32")
		var opened []net.Conn
		NewWithT(t).Eventually(func() int {
			opened = append(opened, openFrom(t, hosts, host, onVLAN+":6443", each-len(opened))...)
			return len(opened)
		}, patient).Should(Equal(each))
		out = append(out, opened...)
	}
	return out
}

// TestConnectionsWithoutTheGate: without the Gate, connections are admitted.
func TestConnectionsWithoutTheGate(t *testing.T) {
	w := newWorld(t)
	w.serves(t, blue(), pods())
	w.alive(t, w.machine)
	w.stopGate()
	w.alive(t, w.machine)
}

// TestAHungGate: a Gate that hangs delays few connections, and only for a short time: Envoy asks about a sample while no VM is near its
// share.
func TestAHungGate(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	w.alive(t, w.machine) // The gate's first count.
	g.Eventually(func() string { return w.runtime(t, askedKey) }, patient).Should(Equal(sample(w)))
	w.hang.Lock()
	defer w.hang.Unlock()
	const all = 120 // Envoy chooses the sample by chance: of 60, it would ask about none once in some thousand runs.
	for range all {
		w.alive(t, w.machine)
	}
	families, err := w.admin.Metrics(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "envoy_ratelimit_gate_error" })
	g.Expect(i).To(BeNumerically(">=", 0))
	waited := families[i].GetMetric()[0].GetCounter().GetValue()
	t.Logf("of %d connections, %v waited for the gate", all, waited)
	g.Expect(waited).To(And(BeNumerically(">", 0), BeNumerically("<", all/2)))
}

// denied is how many connections the gate denied because their source has its share, at all ports.
func denied(from *gate.Gate) (sum float64) {
	for _, port := range []string{"api", "other"} {
		m := &dto.Metric{}
		if from.Denied.WithLabelValues("share", port).Write(m) != nil {
			return -1
		}
		sum += m.GetCounter().GetValue()
	}
	return sum
}

// carried returns those of all to flood that get data.
func carried(all []net.Conn) (out []net.Conn) {
	for _, c := range all {
		_ = c.SetReadDeadline(time.Now().Add(patient))
		if _, err := c.Read(make([]byte, 1)); err == nil {
			out = append(out, c)
		}
	}
	return out
}
