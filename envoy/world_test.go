package envoy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/envoy/ads"
	"github.com/cldmnky/oooi/envoy/gate"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// A world is an edge with a real Envoy in it, between a VM on the VLAN and
// the pods of a control plane. Each backend's first pod is at 10.128.0.11 to .13.
type world struct {
	edge, machine, pods *netns.Namespace
	// management is the pod network.
	vlan, management *netns.Segment
	dirs             resources.Dirs
	envoy            *exec.Cmd
	server           *ads.Server
	stopServer       func()
	admin            *admin.Client
	gate             *gate.Gate
	// hang stops the gate while it is locked.
	hang     sync.RWMutex
	stopGate func()
	limits   resources.Limits
	// files that Envoy may open. Zero: as many as the test.
	files uint64
}

const (
	// drainTime in seconds is that of resources.Arguments.
	drainTime = "600"
	// askedKey is the runtime value with the percentage of connections that Envoy asks the gate about, and gateCluster the
	// name of the gate in counters.
	askedKey, gateCluster = "ratelimit.tcp_filter_enabled", "gate"
)

// options are what a pod of an edge has.
func options() resources.Options { return resources.Options{Device: "net1", UpstreamDevice: "eth0"} }

func (w *world) options() resources.Options {
	o := options()
	o.ReachSocket, o.Limits = w.dirs.Reach(), w.limits
	return o
}

// unprivileged is a program without any capability, as in a pod under Pod Security
// restricted.
func unprivileged(program string, args ...string) (string, []string) {
	return "setpriv", append([]string{"--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs", program}, args...)
}

// newWorld starts Envoy and our server, with nothing to serve yet. Envoy has the memory of an edge's container.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, 2560<<20, 0)
}

// newWorldWith is newWorld for an Envoy that keeps to so much memory in bytes, and may open so many files. Zero:
// there is no limit.
func newWorldWith(t *testing.T, memory, files uint64) *world {
	t.Helper()
	return newWorldThat(t, memory, files, drainTime)
}

// newWorldThat is newWorldWith for an Envoy in which connections survive the removal of what carries them for drain, in seconds.
func newWorldThat(t *testing.T, memory, files uint64, drain string) *world {
	t.Helper()
	netns.Require(t, "openssl", "ss", "setpriv")
	program := programs.RequireEnvoy(t)
	w := &world{limits: resources.NewLimits(memory, files), files: files, edge: netns.New(t), machine: netns.New(t), pods: netns.New(t)}
	vlan, management := netns.NewSegment(t), netns.NewSegment(t)
	w.vlan, w.management = vlan, management
	vlan.Attach(t, w.edge, "net1", "", "192.168.100.4/24", onVLAN+"/32")
	vlan.Attach(t, w.machine, "eth0", "", "192.168.100.20/24")
	management.Attach(t, w.edge, "eth0", "", "10.128.0.2/24")
	management.Attach(t, w.pods, "eth0", "", "10.128.0.1/24", "10.128.0.11/24", "10.128.0.12/24", "10.128.0.13/24", "10.128.0.14/24")
	w.pods.Route(t, "192.168.100.0/24", "10.128.0.2")
	// A test's own directory has a path that is too long for a Unix socket.
	dir, err := os.MkdirTemp("", "oooi-envoy-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w.dirs = resources.NewDirs(filepath.Join(dir, "xds"), filepath.Join(dir, "envoy"))
	if err := os.Mkdir(w.dirs.Envoy, 0o755); err != nil {
		t.Fatal(err)
	}
	w.admin = admin.NewClient(rundir.Transport(w.dirs.Admin()))
	w.admin.HTTP.Timeout = patient // On a busy machine, counters take longer than an edge waits for them.
	w.startServer(t)
	t.Cleanup(func() { w.stopServer() })
	w.startGate(t)
	w.startEnvoy(t, program, drain)
	for _, b := range []network.Backend{api, oauth, ingress} {
		w.pod(t, w.pods, pods()[b.Name][0], b.Service)
	}
	return w
}

func (w *world) startServer(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s := ads.NewServer(slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})))
	s.SetAsked(w.limits.Sample()) // As a Gate does that starts with it.
	ended := make(chan error, 1)
	l := listen(t, w.dirs.XDS())
	go func() { ended <- s.Run(ctx, l) }()
	w.server = s
	w.stopServer = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("server: %v", err)
		}
		w.stopServer = func() {}
	}
}

// startGate limits each VM's connections, as seen in the edge. stopGate stops it.
func (w *world) startGate(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	var clients *device.Clients
	var err error
	w.edge.Do(t, func() { clients, err = device.OpenClients("net1") })
	g.Expect(err).NotTo(HaveOccurred())
	w.gate = &gate.Gate{
		Limits: w.limits, Each: clients.Each, Sockets: func() (int, error) { w.hang.RLock(); defer w.hang.RUnlock(); return clients.Sockets() }, MACOf: clients.MACOf, SetAsked: func(percent uint32) { w.server.SetAsked(percent) }, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Denied: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "refused"}, []string{"reason", "port"}),
	}
	resetter := device.NewResetter(clients, w.gate.CountReset)
	w.gate.Reset = func(all []gate.Senders) (err error) {
		w.edge.Do(t, func() { err = resetter.Set(deviceSenders(all)...) })
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	l := listen(t, w.dirs.Gate())
	go func() { ended <- w.gate.Run(ctx, l) }()
	w.stopGate = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("gate: %v", err)
		}
		clients.Close()
	})
	t.Cleanup(w.stopGate)
}

// listen listens on a socket, as an edge does for Envoy.
func listen(t *testing.T, socket string) net.Listener {
	t.Helper()
	l, err := rundir.ListenOpen(socket)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return l
}

// deviceSenders are all as a Resetter takes them.
func deviceSenders(all []gate.Senders) (out []device.Senders) {
	for _, s := range all {
		out = append(out, device.Senders(s))
	}
	return out
}

func (w *world) startEnvoy(t *testing.T, program, drain string) {
	t.Helper()
	var said bytes.Buffer
	w.edge.Sysctl(t, "net/ipv4/ip_unprivileged_port_start", "0")
	arguments := resources.Arguments(w.dirs, "test", w.limits)
	const kept = `{"suffix":".membership_healthy"}` // What edges count. The others are for tests.
	more := kept
	for _, suffix := range []string{"ejections_enforced_total", "ejections_active", "lb_healthy_panic", "health_check.success", "health_check.network_failure"} {
		more += `,{"suffix":".` + suffix + `"}`
	}
	arguments[1] = strings.Replace(arguments[1], kept, more, 1)
	arguments[slices.Index(arguments, "--drain-time-s")+1] = drain
	program, args := unprivileged(program, arguments...)
	if w.files > 0 {
		program, args = "prlimit", append([]string{"--nofile=" + strconv.FormatUint(w.files, 10), program}, args...)
	}
	c := w.edge.Command(context.WithoutCancel(t.Context()), program, args...)
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.envoy = c
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
		if t.Failed() {
			t.Logf("Envoy said:\n%s", said.String())
		}
	})
}

// serves makes Envoy serve n, and waits until it does.
func (w *world) serves(t *testing.T, n network.Network, behind map[string][]netip.AddrPort) {
	t.Helper()
	w.gate.Serve(n)
	w.server.Serve(resources.New(n, w.options(), behind))
	var names []string
	for _, l := range n.Listeners {
		names = append(names, l.Name())
	}
	g := NewWithT(t)
	g.Eventually(w.server.Accepted, patient, "5ms").Should(Succeed())
	g.Eventually(func() error { return w.admin.Serves(t.Context(), names) }, patient, "5ms").Should(Succeed())
}

// pod answers TLS at an address of n: first who it is and the server name it was
// asked for, then every line again, until the line "bye". The function closes its
// port.
func (w *world) pod(t *testing.T, n *netns.Namespace, at netip.AddrPort, name string) (end func()) {
	t.Helper()
	var l net.Listener
	n.Do(t, func() {
		var err error
		if l, err = net.Listen("tcp4", at.String()); err != nil {
			t.Error(err)
		}
	})
	if l == nil {
		t.FailNow()
	}
	t.Cleanup(func() { _ = l.Close() })
	certificate := selfSigned(t)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerTLS(tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate}}), name)
		}
	}()
	return func() { _ = l.Close() }
}

func answerTLS(c *tls.Conn, name string) {
	defer func() { _ = c.Close() }()
	if c.Handshake() != nil {
		return
	}
	asked := c.ConnectionState().ServerName
	if asked == "" {
		asked = "nobody"
	}
	if _, err := fmt.Fprintf(c, "%s, asked for %s\n", name, asked); err != nil {
		return
	}
	lines := bufio.NewScanner(c)
	for lines.Scan() && lines.Text() != "bye" {
		if _, err := fmt.Fprintln(c, lines.Text()); err != nil {
			return
		}
	}
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// openssl is who answers OpenSSL, dialling from n, or the error that it prints.
// An empty server name is not sent.
func (w *world) openssl(t *testing.T, n *netns.Namespace, at, serverName string) (string, error) {
	t.Helper()
	args := []string{"s_client", "-connect", at, "-quiet", "-verify_quiet"}
	if serverName == "" {
		args = append(args, "-noservername")
	} else {
		args = append(args, "-servername", serverName)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	c := n.Command(ctx, "openssl", args...)
	c.Stdin = strings.NewReader("bye\n")
	var out, failed bytes.Buffer
	c.Stdout, c.Stderr = &out, &failed
	if err := c.Run(); err != nil {
		if _, ok := err.(*exec.ExitError); !ok {
			t.Fatal(err)
		}
		return out.String(), fmt.Errorf("%w: %s", err, failed.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// A tunnel is a connection that stays.
type tunnel struct {
	conn  *tls.Conn
	lines *bufio.Reader
	// hello is what the pod said first.
	hello string
}

// dial opens a connection from the VM; over wraps what TLS is spoken over.
func (w *world) dial(t *testing.T, at, serverName string, over ...func(net.Conn) net.Conn) (*tunnel, error) {
	t.Helper()
	var c net.Conn
	var err error
	w.machine.Do(t, func() { c, err = net.DialTimeout("tcp4", at, patient) })
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, o := range over {
		c = o(c)
	}
	u := &tunnel{conn: tls.Client(c, &tls.Config{ServerName: serverName, InsecureSkipVerify: true})}
	u.lines = bufio.NewReader(u.conn)
	_ = c.SetDeadline(time.Now().Add(patient))
	u.hello, err = u.lines.ReadString('\n')
	u.hello = strings.TrimSpace(u.hello)
	return u, err
}

// says is what the pod said first, of any tunnel.
func (u *tunnel) says() string {
	if u == nil {
		return ""
	}
	return u.hello
}

// works reports whether bytes still go there and back.
func (u *tunnel) works() error {
	_ = u.conn.SetDeadline(time.Now().Add(patient))
	if _, err := io.WriteString(u.conn, "still there?\n"); err != nil {
		return err
	}
	_, err := u.lines.ReadString('\n')
	return err
}
