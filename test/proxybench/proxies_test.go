// This file starts the proxies that are compared, with the same routes.

package proxybench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	_ "github.com/cldmnky/oooi/test/patience"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

const (
	backendPort = 9000
	// rawPort is for connections to one backend, whose first bytes are not read. On tlsPort the server name decides.
	rawPort, tlsPort = 6443, 443
	// bufferKiB is the most that each proxy buffers of a connection in each direction.
	bufferKiB = 64
	openFiles = 20_000
	// lo is the device of all.
	lo = "lo"
)

// A table is the routes of a proxy.
type table struct {
	names int
	// own: each name has a backend of its own, with one endpoint. Otherwise one backend has all names.
	own bool
}

func (r table) name(i int) string { return fmt.Sprintf("route-%03d.blue.example.com", i) }

// backends is how many there are.
func (r table) backends() int {
	if r.own {
		return r.names
	}
	return 1
}

func (r table) backend(i int) string { return fmt.Sprintf("backend-%d", i%r.backends()) }

// endpoint of a backend. The backend's process answers at each address of the device.
func endpoint(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 1, byte(i >> 8), byte(i)}), backendPort)
}

// A proxy is one contender. Args returns what runs it at an address.
type proxy struct {
	name string
	args func(t *testing.T, dir, at string, r table) (args, environment []string)
	// control: the first process configures the proxy. Its memory does not count, as its container has its own.
	control bool
	// dir has the sockets of the proxy that was started last, if control is set.
	dir *string
}

func proxies(t *testing.T) []proxy {
	t.Helper()
	nginx := programs.RequireUnpacked(t, "nginx", "usr/sbin/nginx")
	stream := programs.RequireUnpacked(t, "libnginx-mod-stream", "usr/lib/nginx/modules/ngx_stream_module.so")
	return []proxy{
		ours(t, "oooi"),
		haproxy("HAProxy", bufferKiB),
		haproxy("HAProxy, its own buffers", 16),
		{name: "nginx", args: func(t *testing.T, dir, at string, r table) (args, environment []string) {
			return []string{nginx, "-e", "stderr", "-p", dir, "-c", nginxConfig(t, dir, stream, at, r)}, nil
		}},
	}
}

// ours is Envoy as an edge runs it, with our server and a Gate in a process that is its parent: both use CPU time.
func ours(t *testing.T, name string) proxy {
	t.Helper()
	program := programs.RequireEnvoy(t)
	last := ""
	return proxy{name: name, control: true, dir: &last, args: func(t *testing.T, _, at string, r table) (args, environment []string) {
		g := NewWithT(t)
		dir, err := os.MkdirTemp("", "oooi-proxy-") // A path in the test's own directory is too long for a Unix socket.
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.Mkdir(filepath.Dir(resources.NewDirs(wire.EnvoyDirs(dir)).Admin()), 0o755)).To(Succeed())
		t.Cleanup(func() { g.Expect(os.RemoveAll(dir)).To(Succeed()) })
		last = dir
		text, err := json.Marshal(controlled{Envoy: program, Dir: dir, At: at, Names: r.names, Own: r.own})
		g.Expect(err).NotTo(HaveOccurred())
		self, env := programs.Self(t)
		return []string{self, "control", string(text)}, env
	}}
}

// plan is the routes as a plan has them.
func plan(at string, r table) (network.Network, map[string][]netip.AddrPort) {
	address, endpoints := netip.MustParseAddr(at), map[string][]netip.AddrPort{}
	n := network.Network{Name: "clusters.vlan100", Listeners: []network.Listener{{Address: address, Port: tlsPort}, {Address: address, Port: rawPort, Default: r.backend(0)}}}
	for i := range r.backends() {
		n.Backends = append(n.Backends, network.Backend{Kind: network.BackendPods, Name: r.backend(i), Service: r.backend(i), Port: backendPort})
		endpoints[r.backend(i)] = []netip.AddrPort{endpoint(i)}
	}
	for i := range r.names {
		n.Listeners[0].Forwards = append(n.Listeners[0].Forwards, network.Forward{ServerNames: []string{r.name(i)}, Backend: r.backend(i)})
	}
	return n, endpoints
}

func haproxy(name string, buffer int) proxy {
	return proxy{name: name, args: func(t *testing.T, dir, at string, r table) (args, environment []string) {
		return []string{"haproxy", "-db", "-f", haproxyConfig(t, dir, at, buffer, r)}, nil
	}}
}

// haproxyConfig has our devices, timeouts, keepalive and attempts.
func haproxyConfig(t *testing.T, dir, at string, buffer int, r table) string {
	t.Helper()
	var names, backends strings.Builder
	for i := range r.names {
		fmt.Fprintf(&names, "%s %s\n", r.name(i), r.backend(i))
	}
	for i := range r.backends() {
		fmt.Fprintf(&backends, "backend %s\n  server pod %s\n", r.backend(i), endpoint(i))
	}
	routes := programs.WriteFile(t, dir, "routes", names.String())
	return programs.WriteFile(t, dir, "haproxy.cfg", fmt.Sprintf(`global
  nbthread %d
  maxconn 8000
  tune.bufsize %d
defaults
  mode tcp
  timeout connect 3s
  timeout client 24h
  timeout server 24h
  option tcpka
  source 0.0.0.0 interface %s
frontend tls
  bind %s:%d interface %[3]s
  tcp-request inspect-delay 5s
  tcp-request content accept if { req.ssl_hello_type 1 }
  use_backend %%[req.ssl_sni,lower,map(%[6]s)]
frontend raw
  bind %[4]s:%[7]d interface %[3]s
  default_backend %[8]s
%[9]s`, resources.Workers, buffer<<10, lo, at, tlsPort, routes, rawPort, r.backend(0), backends.String()))
}

func nginxConfig(t *testing.T, dir, module, at string, r table) string {
	t.Helper()
	var names, backends strings.Builder
	for i := range r.names {
		fmt.Fprintf(&names, "    %s %s;\n", r.name(i), r.backend(i))
	}
	for i := range r.backends() {
		fmt.Fprintf(&backends, "  upstream %s { server %s; }\n", r.backend(i), endpoint(i))
	}
	return programs.WriteFile(t, dir, "nginx.conf", fmt.Sprintf(`load_module %s;
daemon off;
user root;
pid %s/pid;
worker_processes %d;
worker_rlimit_nofile %d;
events { worker_connections %[4]d; }
stream {
  map_hash_bucket_size 128;
  map_hash_max_size 4096;
  map $ssl_preread_server_name $backend {
%[5]s  }
%[6]s
  proxy_buffer_size %[7]dk;
  proxy_connect_timeout 3s;
  proxy_timeout 24h;
  proxy_socket_keepalive on;
  server { listen %[8]s:%[9]d so_keepalive=on; ssl_preread on; preread_timeout 5s; proxy_pass $backend; }
  server { listen %[8]s:%[10]d so_keepalive=on; proxy_pass %[11]s; }
}
`, module, dir, resources.Workers, openFiles, names.String(), backends.String(), bufferKiB, at, tlsPort, rawPort, r.backend(0)))
}

// A running proxy.
type running struct {
	proxy
	host  *netns.Namespace
	at    string
	table table
	pid   int
	stop  func()
}

// start runs a proxy in host until stop or the end of the test. Its first and its last route answer when start returns.
func (p proxy) start(t *testing.T, host *netns.Namespace, at string, routes table) *running {
	t.Helper()
	g := NewWithT(t)
	args, environment := p.args(t, t.TempDir(), at, routes)
	c := host.Command(context.WithoutCancel(t.Context()), args[0], args[1:]...)
	c.Env = append(os.Environ(), environment...)
	said := programs.Start(t, c)
	r := &running{proxy: p, host: host, at: at, table: routes, pid: c.Process.Pid}
	r.stop = sync.OnceFunc(func() {
		_ = c.Process.Signal(os.Interrupt) // nginx ends its workers.
		_ = c.Wait()
	})
	t.Cleanup(r.stop)
	for i := range 2 {
		g.Eventually(func() string { return r.load(t, load{Kind: "tls", Count: 1}, i*(routes.names-1)).Failed }, "1m", "50ms").Should(BeEmpty(), "%s: %s", p.name, said)
	}
	return r
}
