package envoy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

const (
	imageHost = "images.example.com"
	// routers is a name whose backend is the VMs' own ingress.
	routers = "*.apps.blue.example.com"
)

var (
	images = network.Backend{Kind: network.BackendExternal, Name: imageHost + ":443", Host: imageHost, Port: 443}
	vms    = network.Backend{Kind: network.BackendVMs, Name: "vms:443", Port: 443}
)

// with is blue with one more name on 443.
func with(serverName string, b network.Backend) network.Network {
	n := blue()
	n.Listeners[0].Forwards = []network.Forward{n.Listeners[0].Forwards[0], {ServerNames: []string{serverName}, Backend: b.Name}}
	n.Backends = append(n.Backends, b)
	return n
}

// TestWhatIsOutsideIsOpenedByItsOwnNameOnly: an external host is reached only by its own name, even if a plan is wrong about that.
func TestWhatIsOutsideIsOpenedByItsOwnNameOnly(t *testing.T) {
	for _, c := range []struct {
		serverName string
		opened     bool
	}{{imageHost, true}, {"Images.Example.COM", true}, {"*.example.com", false}, {"other.example.com", false}} {
		g := NewWithT(t)
		n := with(c.serverName, images)
		n.Listeners[0].Default = images.Name
		l := resources.New(n, options(), nil).Listeners[onVLAN+":443"]
		g.Expect(l.DefaultFilterChain).To(BeNil(), "without a name")
		var to []string
		for _, chain := range l.FilterChains {
			to = append(to, resources.ClusterOf(chain))
		}
		if c.opened {
			g.Expect(to).To(ContainElement(images.Name), c.serverName)
		} else {
			g.Expect(to).NotTo(ContainElement(images.Name), c.serverName)
		}
	}
}

// TestDeviceOfEachKind: external hosts are never dialed through the VLAN, where any host
// may answer.
func TestDeviceOfEachKind(t *testing.T) {
	g := NewWithT(t)
	proxied := images
	proxied.HTTPProxy = "proxy.example.com:3128"
	for _, c := range []struct {
		backend network.Backend
		device  string
	}{{api, "eth0"}, {images, "eth0"}, {proxied, "eth0"}, {vms, "net1"}} {
		r := resources.New(network.Network{Backends: []network.Backend{c.backend}}, options(), nil)
		cluster := r.Clusters[resources.ClusterName(c.backend)]
		g.Expect(string(cluster.UpstreamBindConfig.SocketOptions[0].GetBufValue())).To(Equal(c.device+"\x00"), c.backend.Name)
		g.Expect(len(cluster.HealthChecks) > 0).To(Equal(c.backend.Kind == network.BackendVMs || c.backend.IsAPI()), c.backend.Name)
	}
}

// TestAnOutsideHostIsReachedByItsName: an external host is reached by its name, and no other name reaches it.
func TestAnOutsideHostIsReachedByItsName(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	at := netip.MustParseAddrPort("10.128.0.14:443")
	w.pod(t, w.pods, at, "registry")
	behind := pods()
	behind[images.Name] = []netip.AddrPort{at}
	w.serves(t, with(imageHost, images), behind)
	g.Expect(w.openssl(t, w.machine, onVLAN+":443", imageHost)).To(Equal("registry, asked for " + imageHost))
	for _, other := range []string{"x." + imageHost, "example.com", "other.example.com", ""} {
		got, err := w.openssl(t, w.machine, onVLAN+":443", other)
		g.Expect(err).To(HaveOccurred(), other)
		g.Expect(got).To(BeEmpty(), other)
	}
}

// A connectProxy is an HTTP proxy that knows CONNECT and nothing else. What is
// asked for is at home, wherever that is.
type connectProxy struct {
	home  string
	mu    sync.Mutex
	asked []string
}

// ServeHTTP implements http.Handler.
func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, r.Proto))
	p.mu.Unlock()
	if r.Method != http.MethodConnect || r.Host != images.Name {
		http.Error(w, "not allowed", http.StatusForbidden)
		return
	}
	to, err := net.Dial("tcp4", p.home)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = to.Close()
		return
	}
	_, _ = io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() { _, _ = io.Copy(to, buffered); _ = to.(*net.TCPConn).CloseWrite() }()
	_, _ = io.Copy(from, to)
	_ = from.Close()
	_ = to.Close()
}

func (p *connectProxy) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

// TestAnOutsideHostByWayOfAnHTTPProxy: an external host that only the HTTP proxy can reach. Envoy requests exactly that host and port; TLS
// is between the VM and the host.
func TestAnOutsideHostByWayOfAnHTTPProxy(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	home := netns.New(t)
	lan := netns.NewSegment(t)
	lan.Attach(t, home, "eth0", "", "203.0.113.1/24")
	w.pod(t, home, netip.MustParseAddrPort("203.0.113.1:443"), "registry")
	// The proxy itself has one foot in each.
	lan.Attach(t, w.pods, "eth1", "", "203.0.113.2/24")
	proxy := &connectProxy{home: relay(t, w.pods, "203.0.113.1:443")}
	var l net.Listener
	var err error
	w.pods.Do(t, func() { l, err = net.Listen("tcp4", "10.128.0.14:3128") })
	g.Expect(err).NotTo(HaveOccurred())
	s := &http.Server{Handler: proxy}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })

	direct := with(imageHost, images)
	behind := pods()
	behind[images.Name] = []netip.AddrPort{netip.MustParseAddrPort("203.0.113.1:443")}
	w.serves(t, direct, behind)
	_, err = w.openssl(t, w.machine, onVLAN+":443", imageHost)
	g.Expect(err).To(HaveOccurred(), "the edge can't get there itself")

	proxied := images
	proxied.HTTPProxy = "proxy.example.com:3128"
	behind[images.Name] = []netip.AddrPort{netip.MustParseAddrPort("10.128.0.14:3128")}
	w.serves(t, with(imageHost, proxied), behind)
	u, err := w.dial(t, onVLAN+":443", imageHost)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(u.hello).To(Equal("registry, asked for " + imageHost))
	g.Expect(u.works()).To(Succeed())
	g.Expect(proxy.requests()).To(ConsistOf("CONNECT images.example.com:443 HTTP/1.1"))
	_, err = w.openssl(t, w.machine, onVLAN+":443", "other.example.com")
	g.Expect(err).To(HaveOccurred())
	g.Expect(proxy.requests()).To(HaveLen(1), "nothing else is asked for")

	// A proxy that says no closes the connection, and its words reach no VM.
	denied := proxied
	denied.Name, denied.Host = "denied.example.com:443", "denied.example.com"
	behind[denied.Name] = behind[images.Name]
	w.serves(t, with(denied.Host, denied), behind)
	got, err := w.openssl(t, w.machine, onVLAN+":443", denied.Host)
	g.Expect(err).To(HaveOccurred())
	g.Expect(got).To(BeEmpty())
	g.Expect(err.Error()).NotTo(ContainSubstring("not allowed"))
}

// relay is an address of this process whose connections go to an address that is
// dialled from n.
func relay(t *testing.T, n *netns.Namespace, to string) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			var out net.Conn
			n.Do(t, func() { out, err = net.Dial("tcp4", to) })
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); _ = out.(*net.TCPConn).CloseWrite() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
	return l.Addr().String()
}

// TestUnansweredVMsAreSkipped: Envoy sends connections to the hosted cluster's ingress only to VMs that answer.
func TestUnansweredVMsAreSkipped(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.machine.Address(t, "eth0", "192.168.100.21/24")
	w.machine.Address(t, "eth0", "192.168.100.22/24")
	first := w.pod(t, w.machine, netip.MustParseAddrPort("192.168.100.21:443"), "first")
	// The pod network claims the address too, and the edge routes to it.
	w.pods.Address(t, "eth0", "192.168.100.21/32")
	w.pod(t, w.pods, netip.MustParseAddrPort("192.168.100.21:443"), "impostor")
	w.edge.Route(t, "192.168.100.21/32", "10.128.0.1")
	behind := pods()
	behind[vms.Name] = []netip.AddrPort{
		netip.MustParseAddrPort("192.168.100.21:443"),
		netip.MustParseAddrPort("192.168.100.22:443"), // closed
		netip.MustParseAddrPort("192.168.100.99:443"), // no host
	}
	w.serves(t, with(routers, vms), behind)
	const name = "console.apps.blue.example.com"
	for range 6 {
		g.Expect(w.openssl(t, w.machine, onVLAN+":443", name)).To(Equal("first, asked for " + name))
	}
	g.Expect(w.counter(t, "cluster.vms_443.membership_total")).To(Equal("3"))
	g.Expect(w.counter(t, "cluster.vms_443.membership_healthy")).To(Equal("1"))
	g.Expect(w.counter(t, "cluster.vms_443.upstream_cx_connect_fail")).To(Equal("0"), "no connection met one that does not answer")

	second := w.pod(t, w.machine, netip.MustParseAddrPort("192.168.100.22:443"), "second")
	first()
	g.Eventually(func() (string, error) { return w.openssl(t, w.machine, onVLAN+":443", name) }, patient).Should(HavePrefix("second"))
	second()
	g.Eventually(func() string { return w.counter(t, "cluster.vms_443.membership_healthy") }, patient).Should(Equal("0"))
	_, err := w.openssl(t, w.machine, onVLAN+":443", name)
	g.Expect(err).To(HaveOccurred(), "nobody is asked where nobody answers")
}

// TestAMachineThatIsNoneAnyMore: Envoy does not dial a host that is no longer an endpoint, even if the host answers.
func TestAMachineThatIsNoneAnyMore(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.machine.Address(t, "eth0", "192.168.100.21/24")
	w.pod(t, w.machine, netip.MustParseAddrPort("192.168.100.21:443"), "stranger")
	behind := pods()
	behind[vms.Name] = []netip.AddrPort{netip.MustParseAddrPort("192.168.100.21:443")}
	n := with(routers, vms)
	w.serves(t, n, behind)
	g.Expect(w.openssl(t, w.machine, onVLAN+":443", "x.apps.blue.example.com")).To(HavePrefix("stranger"))
	behind[vms.Name] = []netip.AddrPort{}
	w.serves(t, n, behind)
	g.Eventually(func() string { return w.counter(t, "cluster.vms_443.membership_total") }, patient).Should(Equal("0"))
	_, err := w.openssl(t, w.machine, onVLAN+":443", "x.apps.blue.example.com")
	g.Expect(err).To(HaveOccurred())
}

// TestAnExactNameGoesBeforeAWildcard: an exact name has precedence over a wildcard, in any order of the names.
func TestAnExactNameGoesBeforeAWildcard(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	n := blue()
	n.Listeners[0].Forwards = []network.Forward{
		{ServerNames: []string{"*.apps.blue.example.com"}, Backend: ingress.Name},
		{ServerNames: []string{"*.deep.apps.blue.example.com", "oauth.apps.blue.example.com"}, Backend: oauth.Name},
	}
	w.serves(t, n, pods())
	for name, want := range map[string]string{
		"oauth.apps.blue.example.com":   "oauth",
		"console.apps.blue.example.com": "ingress",
		"x.deep.apps.blue.example.com":  "oauth",
		"x.oauth.apps.blue.example.com": "ingress",
	} {
		got, err := w.openssl(t, w.machine, onVLAN+":443", name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.SplitN(got, ",", 2)[0]).To(Equal(want), name)
	}
}
