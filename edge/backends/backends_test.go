package backends_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/edge/backends"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

var (
	images = network.Backend{Kind: network.BackendExternal, Name: "images.example.com:443", Host: "images.example.com", Port: 443}
	allVMs = network.Backend{Kind: network.BackendVMs, Name: "vms:443", Port: 443}
	// led has edges in the EndpointSlices of its Service.
	led = network.Backend{Kind: network.BackendVMs, Name: "led:443", Service: "default-ingress-passthrough", Port: 443, PortName: "https", TargetPort: 31999, ByLease: true}
)

// imagesName is the fully qualified name that is resolved, without search domains.
const imagesName = "images.example.com."

// networkWith returns a network with these backends.
func networkWith(all ...network.Backend) network.Network {
	d := derive.Derive(network.Request{Cluster: network.Cluster{Namespace: "clusters", Name: "blue", ControlPlaneNamespace: "clusters-blue"}, Edges: 1,
		Networks: []network.NetworkRequest{{
			Attachment: network.Attachment{Namespace: "clusters", Name: "vlan100"}, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24"),
		}},
	}, network.Facts{}, network.Plan{}, nil)
	n := d.Draft().Networks[0]
	n.PublishedAddresses = []netip.Addr{netip.MustParseAddr("203.0.113.7")}
	n.Backends = all
	return n
}

func addrs(all ...string) []netip.Addr {
	out := []netip.Addr{}
	for _, a := range all {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

func addrPorts(all ...string) []netip.AddrPort {
	out := []netip.AddrPort{}
	for _, a := range all {
		out = append(out, netip.MustParseAddrPort(a))
	}
	return out
}

// A resolver returns the answers that the test sets, or fails.
type resolver struct {
	mu      sync.Mutex
	answers map[string][]netip.Addr
	asked   int
}

func (r *resolver) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if a, ok := r.answers[host]; ok {
		return a, nil
	}
	return nil, errors.New("no answer")
}

func (r *resolver) set(host string, all ...netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(all) == 0 {
		delete(r.answers, host)
		return
	}
	r.answers[host] = all
}

// follow follows n with r, until the returned function is called.
func follow(t *testing.T, r *resolver, file string, n network.Network) (*backends.Backends, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b, err := backends.New(ctx, nil, r.lookup, file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Error(err)
	}
	b.Follow(ctx, n)
	return b, cancel
}

// TestExternalHostsAreResolvedAgain: the last known good answer outlives a resolver that
// fails, and a restart of the process.
func TestExternalHostsAreResolvedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := &resolver{answers: map[string][]netip.Addr{}}
		file := filepath.Join(t.TempDir(), "backends.json")
		b, end := follow(t, r, file, networkWith(images))
		synctest.Wait()
		g.Expect(b.Endpoints(images)).To(BeNil(), "unknown differs from empty")
		g.Expect(b.Seen(t.Context())).To(BeTrue(), "one failed lookup is enough")

		r.set(imagesName, addrs("198.51.100.2", "198.51.100.1", "::ffff:198.51.100.2")...)
		changed := b.Changed()
		<-time.After(31 * time.Second)
		synctest.Wait()
		g.Expect(changed).To(BeClosed())
		g.Expect(b.Endpoints(images)).To(Equal(addrPorts("198.51.100.1:443", "198.51.100.2:443")))

		r.set(imagesName)
		<-time.After(10 * time.Minute)
		synctest.Wait()
		g.Expect(b.Endpoints(images)).To(HaveLen(2), "the last known good answer")
		end()
		synctest.Wait()

		b, end = follow(t, r, file, networkWith(images))
		synctest.Wait()
		g.Expect(b.Endpoints(images)).To(HaveLen(2), "cached")
		r.set(imagesName, addrs("198.51.100.3")...)
		<-time.After(31 * time.Second)
		synctest.Wait()
		g.Expect(b.Endpoints(images)).To(Equal(addrPorts("198.51.100.3:443")))

		b.Follow(t.Context(), networkWith())
		synctest.Wait()
		asked := r.asked
		<-time.After(time.Hour)
		g.Expect(r.asked).To(Equal(asked), "no backend names the host")
		end()
	})
}

// TestRefusedAddresses of an external host, whatever DNS answers.
func TestRefusedAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := &resolver{answers: map[string][]netip.Addr{}}
		r.set(imagesName, addrs("198.51.100.1", "127.0.0.1", "127.8.8.8", "169.254.169.254", "224.0.0.1", "255.255.255.255", "240.0.0.1",
			"0.0.0.0", "0.1.2.3", "192.168.100.77", "192.168.100.3", "203.0.113.7", "2001:db8::1", "::ffff:127.0.0.1", "10.9.0.8")...)
		n := networkWith(images)
		n.ClientNetworks = []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}
		b, end := follow(t, r, "", n)
		defer end()
		synctest.Wait()
		g.Expect(b.Endpoints(images)).To(Equal(addrPorts("198.51.100.1:443")))

		r.set(imagesName, addrs("127.0.0.1")...)
		<-time.After(31 * time.Second)
		synctest.Wait()
		g.Expect(b.Endpoints(images)).To(And(BeEmpty(), Not(BeNil())), "the answer has no usable address")
	})
}

// TestHTTPProxyIsDialed: the host behind a proxy is not resolved, since only the proxy may
// know it.
func TestHTTPProxyIsDialed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		byName, byAddress := images, images
		byName.HTTPProxy = "proxy.example.com:3128"
		byAddress.Name, byAddress.HTTPProxy = "other.example.com:443", "198.51.100.10:8080"
		r := &resolver{answers: map[string][]netip.Addr{}}
		r.set("proxy.example.com", addrs("198.51.100.9")...)
		r.set("198.51.100.10", addrs("198.51.100.10")...)
		b, end := follow(t, r, "", networkWith(byName, byAddress))
		defer end()
		synctest.Wait()
		g.Expect(b.Endpoints(byName)).To(Equal(addrPorts("198.51.100.9:3128")))
		g.Expect(b.Endpoints(byAddress)).To(Equal(addrPorts("198.51.100.10:8080")))
		g.Expect(r.asked).To(Equal(2))
	})
}

// resolves answers every query to an address of n with one address.
func resolves(t *testing.T, n *netns.Namespace, at, answer string) {
	t.Helper()
	var p net.PacketConn
	var err error
	n.Do(t, func() { p, err = net.ListenPacket("udp4", at) })
	if err != nil {
		t.Fatal(err)
	}
	s := &dns.Server{PacketConn: p, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		if q.Question[0].Name == imagesName && q.Question[0].Qtype == dns.TypeA {
			a, _ := dns.NewRR("images.example.com. 60 IN A " + answer)
			m.Answer = append(m.Answer, a)
		} else {
			m.Rcode = dns.RcodeNameError
		}
		_ = w.WriteMsg(m)
	})}
	go func() { _ = s.ActivateAndServe() }()
	t.Cleanup(func() { _ = s.Shutdown() })
}

// TestLookupByDevice: the resolver in resolv.conf is queried through the pod network, even
// if the VLAN has a route to the same address.
func TestLookupByDevice(t *testing.T) {
	const asChild = "OOOI_TEST_LOOKUP_DEVICE"
	if device, ok := os.LookupEnv(asChild); ok {
		all, err := backends.NewLookup(device)(t.Context(), imagesName)
		fmt.Println("found", all, err)
		return
	}
	g := NewWithT(t)
	vlan, pods := netns.NewSegment(t), netns.NewSegment(t)
	e, impostor, cluster := netns.New(t), netns.New(t), netns.New(t)
	vlan.Attach(t, e, "net1", "", "192.168.100.4/24")
	pods.Attach(t, e, "eth0", "", "10.128.0.2/24")
	vlan.Attach(t, impostor, "eth0", "", "192.168.100.20/24", "10.96.0.10/32")
	pods.Attach(t, cluster, "eth0", "", "10.128.0.1/24", "10.96.0.10/32")
	e.Route(t, "0.0.0.0/0", "10.128.0.1")
	e.Route(t, "10.96.0.10/32", "192.168.100.20")
	resolves(t, cluster, "10.96.0.10:53", "198.51.100.1")
	resolves(t, impostor, "10.96.0.10:53", "198.51.100.66")
	conf := filepath.Join("/etc/netns", e.Name)
	g.Expect(os.MkdirAll(conf, 0o755)).To(Succeed())
	t.Cleanup(func() { _ = os.RemoveAll(conf) })
	g.Expect(os.WriteFile(filepath.Join(conf, "resolv.conf"), []byte("search nowhere.example\nnameserver 10.96.0.10\noptions ndots:5\n"), 0o644)).To(Succeed())
	self, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	found := func(device string) string {
		c := e.Command(t.Context(), self, "-test.run", "^TestLookupByDevice$")
		c.Env = append(os.Environ(), asChild+"="+device)
		out, err := c.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
		_, line, _ := strings.Cut(string(out), "found ")
		line, _, _ = strings.Cut(line, "\n")
		return line
	}
	g.Expect(found("eth0")).To(Equal("[198.51.100.1] <nil>"))
	g.Expect(found("")).To(Equal("[198.51.100.66] <nil>"), "an unbound socket follows the routes")
}

// TestManagementClusterIsNotDialed for an external host at any port, even if DNS names its
// addresses: Services, pods, and nodes with their node ports. The administrator may permit some.
func TestManagementClusterIsNotDialed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		nodePort := images
		nodePort.Name, nodePort.Port = "node port", 30443
		n := networkWith(images, nodePort, network.Backend{Name: "kube-apiserver:6443", ClusterIP: netip.MustParseAddr("10.96.9.9")})
		r := &resolver{answers: map[string][]netip.Addr{imagesName: addrs("10.96.0.1", "10.96.9.9", "10.128.1.7", "168.63.129.16", "100.100.100.200", "10.0.0.11", "10.0.0.12", "10.97.50.50", "198.51.100.1")}}
		b, end := follow(t, r, "", n)
		defer end()
		synctest.Wait()
		g.Expect(b.Endpoints(images)).To(Equal(addrPorts("10.0.0.11:443", "10.0.0.12:443", "10.96.0.1:443", "10.96.9.9:443", "10.97.50.50:443", "10.128.1.7:443", "198.51.100.1:443")), "nothing is known of that cluster")

		n.ReservedDestinations = []netip.Prefix{netip.MustParsePrefix("10.0.0.11/32"), netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("10.128.0.0/23")}
		b.Follow(t.Context(), n)
		g.Expect(b.Endpoints(images)).To(Equal(addrPorts("10.0.0.12:443", "198.51.100.1:443")))
		g.Expect(b.Endpoints(nodePort)).To(Equal(addrPorts("10.0.0.12:30443", "198.51.100.1:30443")))
		g.Expect(b.RefusedHosts()).To(Equal([]string{"images.example.com:443", "node port"}), "for the condition")

		behind := n
		behind.ReservedDestinations, behind.ClientNetworks = nil, []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
		b.Follow(t.Context(), behind)
		g.Expect(b.RefusedHosts()).To(Equal([]string{"images.example.com:443", "node port"}), "edges do not pull through the gateway")

		n.PermittedDestinations = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("10.96.9.9/32")}
		b.Follow(t.Context(), n)
		g.Expect(b.Endpoints(images)).To(Equal(addrPorts("10.0.0.11:443", "10.0.0.12:443", "10.96.9.9:443", "198.51.100.1:443")), "a mirror on the ingress of that cluster, and a Service with a backend")

		r.set(imagesName, addrs("10.0.0.11", "169.254.169.254")...)
		<-time.After(31 * time.Second)
		synctest.Wait()
		g.Expect(b.RefusedHosts()).To(BeEmpty(), "the administrator can't permit metadata")
	})
}

// TestVMsOutsideOfACluster: an edge that knows the plan alone dials every address that a VM can
// have. Without the port of the VMs it knows nothing.
func TestVMsOutsideOfACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		ingress := network.Backend{Kind: network.BackendVMs, Name: "ingress:443", Service: "ingress", Port: 443, TargetPort: 31443}
		earlier := ingress
		earlier.Name, earlier.TargetPort = "earlier:443", 0
		n := networkWith(ingress, earlier, allVMs)
		n.DHCP.Range = network.Range{First: addrs("192.168.100.20")[0], Last: addrs("192.168.100.23")[0]}
		n.DHCP.Exclude = []network.Range{{First: addrs("192.168.100.21")[0], Last: addrs("192.168.100.22")[0]}}
		n.DHCP.Reservations = []network.Reservation{{MAC: "02:00:00:00:00:01", Address: addrs("192.168.100.200")[0]}, {MAC: "02:00:00:00:00:02", Address: addrs("192.168.100.23")[0]}}
		b, end := follow(t, &resolver{}, "", n)
		defer end()
		g.Expect(b.Endpoints(ingress)).To(Equal(addrPorts("192.168.100.20:31443", "192.168.100.23:31443", "192.168.100.200:31443")))
		g.Expect(b.Endpoints(allVMs)).To(Equal(addrPorts("192.168.100.20:443", "192.168.100.23:443", "192.168.100.200:443")))
		g.Expect(b.Endpoints(earlier)).To(BeNil())
		g.Expect(n.DHCP.Assignable(2)).To(HaveLen(2))
	})
}
