// This file tests checks through a real Envoy.

package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/envoy/ads"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/loopback"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// TestClientHello: servers answer it. One of TLS 1.3 sends a HelloRetryRequest, which is
// cheap, and reads the end of its input, which API servers do not log.
func TestClientHello(t *testing.T) {
	retry := sha256.Sum256([]byte("HelloRetryRequest"))
	for name, version := range map[string]uint16{"TLS 1.3": tls.VersionTLS13, "TLS 1.2": tls.VersionTLS12} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			certificates := httptest.NewUnstartedServer(nil)
			certificates.StartTLS()
			certificates.Close()
			client, server := net.Pipe()
			failed := make(chan error, 1)
			go func() {
				c := tls.Server(server, &tls.Config{Certificates: certificates.TLS.Certificates, MaxVersion: version, MinVersion: tls.VersionTLS12})
				failed <- c.Handshake()
			}()
			_, err := client.Write(clientHello())
			g.Expect(err).NotTo(HaveOccurred())
			b := make([]byte, 4096)
			n, err := client.Read(b)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(bytes.Contains(b[:n], retry[:])).To(Equal(version == tls.VersionTLS13))
			go func() { _, _ = io.Copy(io.Discard, client) }()
			g.Expect(server.SetReadDeadline(time.Now())).To(Succeed())
			g.Eventually(failed, "1m").Should(Receive(MatchError(os.ErrDeadlineExceeded)), "it waits for the client")
		})
	}
}

// An apiServer answers TLS on a port of this host.
type apiServer struct{ *httptest.Server }

func newAPIServer(t *testing.T) apiServer {
	t.Helper()
	return newAPIServerAt(t, loopback.Reserve(t))
}

func newAPIServerAt(t *testing.T, at netip.AddrPort) apiServer {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	_ = s.Listener.Close()
	var err error
	if s.Listener, err = net.Listen("tcp4", at.String()); err != nil {
		t.Fatal(err)
	}
	s.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(io.Discard, nil), slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	return apiServer{s}
}

func (s apiServer) at() netip.AddrPort { return s.Listener.Addr().(*net.TCPAddr).AddrPort() }

// silentBackend accepts connections and never answers.
func silentBackend(t *testing.T) netip.AddrPort {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// darkBackend answers no SYN: its queue is full.
func darkBackend(t *testing.T) netip.AddrPort {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(name.(*unix.SockaddrInet4).Port))
	for {
		c, err := net.DialTimeout("tcp4", at.String(), 2*time.Second) // Until none is answered.
		if err != nil {
			return at
		}
		t.Cleanup(func() { _ = c.Close() })
	}
}

// A reachWorld is a real Envoy and the check of what it reaches.
type reachWorld struct {
	envoy  *exec.Cmd
	admin  *admin.Client
	server *ads.Server
	// reports of the check.
	reports chan reachReport
	// since is when the last fault began. Zero: none has.
	since time.Time
}

// A reachReport is when a check began that reached the API server, zero if none does, and when that was reported.
type reachReport struct{ began, at time.Time }

func newReachWorld(t *testing.T, backends ...netip.AddrPort) *reachWorld {
	t.Helper()
	program := programs.RequireEnvoy(t)
	dir, log := fakes.RunDir(t), slog.New(slog.NewTextHandler(t.Output(), nil))
	w := &reachWorld{admin: admin.NewClient(rundir.Transport(resources.NewDirs(wire.EnvoyDirs(dir)).Admin())), server: ads.NewServer(log), reports: make(chan reachReport, 1000)}
	w.admin.HTTP.Timeout = patience.Limit
	l, err := rundir.ListenOpen(resources.NewDirs(wire.EnvoyDirs(dir)).XDS())
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = w.server.Run(t.Context(), l) }()
	w.leadsTo(dir, backends...)
	w.envoy = exec.Command(program, resources.Arguments(resources.NewDirs(wire.EnvoyDirs(dir)), "test", resources.NewLimits(0, 0))...)
	w.envoy.Stdout, w.envoy.Stderr = t.Output(), t.Output()
	if err := w.envoy.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = w.envoy.Wait(); close(ended) }()
	t.Cleanup(func() { _ = w.envoy.Process.Kill(); <-ended })
	go ReachCheck{Socket: resources.NewDirs(wire.EnvoyDirs(dir)).Reach(), Log: log}.Run(t.Context(), func(began time.Time) { w.reports <- reachReport{began, time.Now()} })
	return w
}

// leadsTo replaces the API server's endpoints.
func (w *reachWorld) leadsTo(dir string, backends ...netip.AddrPort) {
	api := network.Backend{Name: "kube-apiserver:6443", Service: network.APIService, Port: 6443}
	w.server.Serve(resources.New(network.Network{Backends: []network.Backend{api}}, resources.Options{ReachSocket: resources.NewDirs(wire.EnvoyDirs(dir)).Reach()}, map[string][]netip.AddrPort{api.Name: backends}))
}

// await returns at the next report that says so, since the last fault.
func (w *reachWorld) await(t *testing.T, reached bool) {
	t.Helper()
	began, late := time.Now(), time.After(time.Minute)
	for {
		select {
		case r := <-w.reports:
			if r.began.IsZero() != reached && r.at.After(w.since) {
				t.Logf("after %v", time.Since(began).Round(time.Millisecond))
				return
			}
		case <-late:
			t.Fatalf("no report of %v; open connections of checks: %v", reached, w.count(t, "active"))
		}
	}
}

// count returns how many connections of checks there are in Envoy: in total, or active ones. Negative: unknown.
func (w *reachWorld) count(t *testing.T, which string) float64 {
	t.Helper()
	families, err := w.admin.Metrics(t.Context())
	if err != nil {
		t.Logf("Envoy's metrics: %v", err)
	}
	for _, f := range families {
		if f.GetName() == "envoy_listener_reach_downstream_cx_"+which {
			return f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return -1
}

// TestReachSeesWhatHangs: with a real Envoy, and although its admin interface says that it
// is live. When the cause ends, the API server is reached again.
func TestReachSeesWhatHangs(t *testing.T) {
	signal := func(s syscall.Signal) func(*testing.T, *reachWorld, apiServer) {
		return func(_ *testing.T, w *reachWorld, _ apiServer) { _ = w.envoy.Process.Signal(s) }
	}
	freeze := func(workers ...int) func(*testing.T, *reachWorld, apiServer) func() {
		return func(t *testing.T, w *reachWorld, _ apiServer) func() {
			var names []string
			for _, i := range workers {
				names = append(names, programs.EnvoyWorker(i))
			}
			return programs.Freeze(t, w.envoy.Process.Pid, names...)
		}
	}
	for name, fault := range map[string]func(*testing.T, *reachWorld, apiServer) (end func()){
		"all workers":       freeze(0, 1),
		"the first worker":  freeze(0),
		"the second worker": freeze(1),
		"Envoy": func(t *testing.T, w *reachWorld, s apiServer) func() {
			signal(syscall.SIGSTOP)(t, w, s)
			return func() { signal(syscall.SIGCONT)(t, w, s) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAPIServer(t)
			w := newReachWorld(t, s.at())
			w.await(t, true)
			g := NewWithT(t)
			// A worker that hangs after it closed a connection, and before it counts that, is not
			// noticed: the other one has fewer. A report comes just then.
			g.Eventually(func() float64 { return w.count(t, "active") }, "1m", "10ms").Should(BeZero())
			end := fault(t, w, s)
			w.since = time.Now()
			w.await(t, false)
			g.Consistently(func() (reached bool) {
				for len(w.reports) > 0 {
					r := <-w.reports
					reached = reached || r.began.After(w.since)
				}
				return reached
			}, "3s", "50ms").Should(BeFalse(), "it hangs for longer")
			end()
			w.await(t, true)
		})
	}
}

// TestReachSeesTheBackend: an API server that is down, dark or silent is not reached. Where
// one of several is, the others are.
func TestReachSeesTheBackend(t *testing.T) {
	t.Run("down", func(t *testing.T) {
		t.Parallel()
		s := newAPIServer(t)
		w := newReachWorld(t, s.at())
		w.await(t, true)
		s.Close()
		w.await(t, false)
		newAPIServerAt(t, s.at())
		w.await(t, true)
	})
	for name, bad := range map[string]func(*testing.T) netip.AddrPort{"dark": darkBackend, "silent": silentBackend} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newReachWorld(t, bad(t))
			// Three checks have begun, so at least one has ended. Envoy counts a connection when it accepts it.
			g.Eventually(func() float64 { return w.count(t, "total") }, "1m", "50ms").Should(BeNumerically(">", 3*resources.Workers))
			g.Expect(w.reports).NotTo(Receive())
		})
		t.Run("one is "+name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newReachWorld(t, newAPIServer(t).at(), bad(t), newAPIServer(t).at())
			w.await(t, true)
			inARow := 0
			for n := 0; n < 200 && inARow < 15; n++ {
				select {
				case r := <-w.reports:
					if inARow++; r.began.IsZero() {
						inARow = 0
					}
				case <-time.After(time.Minute):
					t.Fatal("no report")
				}
			}
			g.Expect(inARow).To(Equal(15), "it may be lost for a moment, and Envoy then knows which one is bad")
		})
	}
}

// TestAPIServersDoNotLogChecks: a real API server takes each check for a client that went away, which it logs only where
// file secure_serving.go has verbosity 5. On a busy machine, Envoy cuts some that were not answered in time. The API server's own
// client logs its handshakes in other words.
func TestAPIServersDoNotLogChecks(t *testing.T) {
	const failed, verbose = "http: TLS handshake error from ", "secure_serving.go:"
	g := NewWithT(t)
	said := &programs.Output{}
	env, stop := apiserver.Run(t, func(env *envtest.Environment) {
		s := env.ControlPlane.GetAPIServer()
		s.Err = said
		s.Configure().Append("vmodule", "secure_serving=5")
	})
	at, err := netip.ParseAddrPort(strings.Trim(env.Config.Host, "htps:/"))
	g.Expect(err).NotTo(HaveOccurred())
	w := newReachWorld(t, at)
	const checks = 10
	for range checks {
		w.await(t, true)
	}
	log := ""
	g.Eventually(func() (went int) {
		log = said.String()
		for line := range strings.Lines(log) {
			if strings.Contains(line, failed) && strings.HasSuffix(line, ": EOF\n") {
				went++
			}
		}
		return went
	}).Should(BeNumerically(">=", checks*resources.Workers))
	g.Expect(stop()).To(Succeed())
	for line := range strings.Lines(log) {
		if strings.Contains(line, failed) {
			g.Expect(line).To(ContainSubstring(verbose))
		}
	}
}

// TestReachCheckEnds with its context, also while Envoy hangs.
func TestReachCheckEnds(t *testing.T) {
	g := NewWithT(t)
	socket := fakes.RunDir(t) + "/reach.sock"
	l, err := net.Listen("unix", socket)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ReachCheck{Socket: socket, Log: slog.New(slog.DiscardHandler)}.Run(ctx, func(time.Time) { t.Error("nothing answers") })
	}()
	c, err := l.Accept()
	g.Expect(err).NotTo(HaveOccurred())
	cancel()
	g.Eventually(ended, "1m").Should(BeClosed())
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	_, err = io.Copy(io.Discard, c)
	g.Expect(err).NotTo(HaveOccurred(), "it has closed its connections")
}
