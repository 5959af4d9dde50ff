// This file builds what each row needs: two networks, two edges, a VM, and an API server that can go away and rotate its keys.

package accessfaults

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

const (
	namespace, networkName, audience = "clusters-amber", "clusters.vlan100", "oooi-access.clusters-amber"
	apiHost, apiPort                 = "10.128.0.9", "6443"
	vmName, vmMAC, vmAddress         = "worker-1", "02:00:00:00:01:01", "192.168.100.20"
	accessPort                       = 3128
)

// A cluster is the management cluster's API server.
type cluster struct {
	admin client.Client
	// account is the configuration of the account of edges.
	account *rest.Config
}

// newCluster starts an API server with the plan, the lease and the VM.
func newCluster(t *testing.T) cluster {
	t.Helper()
	lease := leaseobject.Of(networkName, network.Lease{Address: netip.MustParseAddr(vmAddress), MAC: vmMAC, VM: vmName, Expires: time.Now().Add(time.Hour)}, time.Hour, time.Now())
	lease.Namespace = namespace
	admin, account := apiserver.ForEdges(t, namespace,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wire.PlanConfigMap}, Data: map[string]string{wire.PlanKey: string(planWith(everything()).JSON())}},
		lease,
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": map[string]any{"namespace": namespace, "name": vmName},
			"spec": map[string]any{"domain": map[string]any{"devices": map[string]any{"interfaces": []any{map[string]any{"name": "vlan", "macAddress": vmMAC}}}}},
		}},
	)
	return cluster{admin, account}
}

// open replaces what the plan opens.
func (c cluster) open(t *testing.T, a network.Access) {
	t.Helper()
	var o corev1.ConfigMap
	g := NewWithT(t)
	g.Expect(c.admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: wire.PlanConfigMap}, &o)).To(Succeed())
	o.Data[wire.PlanKey] = string(planWith(a).JSON())
	g.Expect(c.admin.Update(t.Context(), &o)).To(Succeed())
}

// The ports of the VM to which tunnels lead: the plan keeps one of them when it is edited.
const keptPort, otherPort = 9000, 9001

// everything opens both ports of the VM to one account.
func everything() network.Access {
	return network.Access{
		Port: accessPort, Accounts: []string{"backup/tool"}, Audience: audience,
		Destinations: []network.AccessDestination{{Name: "nodes", Port: keptPort}, {Name: "nodes", Port: otherPort}},
	}
}

func edgeOnVLAN(number int) string { return fmt.Sprintf("192.168.100.%d", 3+number) }
func edgeOnPods(number int) string { return fmt.Sprintf("10.128.0.%d", 1+number) }

func planWith(a network.Access) network.Plan {
	address := netip.MustParseAddr
	n := network.Network{
		Name: networkName, Primary: true, Services: []network.Service{network.ServiceDHCP}, CIDR: netip.MustParsePrefix("192.168.100.0/24"),
		NextHopVIP: address("192.168.100.2"), ServiceVIP: address("192.168.100.3"), Access: a,
		DHCP: network.DHCP{
			Range:    network.Range{First: address("192.168.100.10"), Last: address("192.168.100.253")},
			ServerID: address("192.168.100.3"), Router: address("192.168.100.2"), LeaseTime: network.Duration(time.Hour),
		},
	}
	for number := 1; number <= 2; number++ {
		n.Edges = append(n.Edges, network.Edge{Number: number, Address: address(edgeOnVLAN(number))})
	}
	return network.Plan{Version: network.CurrentPlanVersion, Cluster: network.Cluster{Namespace: "clusters", Name: "amber", ControlPlaneNamespace: namespace, Domain: "amber.example.com"}, Networks: []network.Network{n}}
}

// A world is two edges between pods and a VM.
type world struct {
	cluster
	program      string
	pods         *netns.Segment
	vlan         *netns.Segment
	pod, vm, api *netns.Namespace
	edges        [3]*edge // from 1
	// published are the keys that the API server publishes, and signs the one with which tokens are signed.
	published atomic.Pointer[[]byte]
	signs     atomic.Pointer[ecdsa.PrivateKey]
}

// newWorld starts two edges, and returns when a tunnel opens through each.
func newWorld(t *testing.T, c cluster, program string) *world {
	t.Helper()
	c.open(t, everything())
	w := &world{cluster: c, program: program, pods: netns.NewSegment(t), vlan: netns.NewSegment(t), pod: netns.New(t), vm: netns.New(t), api: netns.New(t)}
	w.pods.Attach(t, w.pod, "eth0", "", "10.128.0.10/24")
	w.pods.Attach(t, w.api, "eth0", "", apiHost+"/24")
	w.vlan.Attach(t, w.vm, "eth0", vmMAC, vmAddress+"/24")
	for _, port := range []int{keptPort, otherPort} {
		w.vm.Serve(t, "0.0.0.0:"+strconv.Itoa(port), func(c net.Conn) { _, _ = io.Copy(c, c) })
	}
	w.publish(t, newKey(t))
	secrets := apiserver.ServePods(t, w.api, &rest.Config{Host: w.front(t)}, namespace, apiHost, apiPort)
	for number := 1; number <= 2; number++ {
		w.edges[number] = w.newEdge(t, number, secrets)
	}
	for number := 1; number <= 2; number++ {
		NewWithT(t).Eventually(func() error { return w.opens(t, number) }, "1m", "50ms").Should(Succeed(), "edge %d", number)
	}
	return w
}

// front answers for the API server, but with the keys of w.
func (w *world) front(t *testing.T) (at string) {
	t.Helper()
	transport, err := rest.TransportFor(w.account)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(w.account.Host)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	all := http.NewServeMux()
	all.Handle("/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1})
	all.HandleFunc("/openid/v1/jwks", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(*w.published.Load()) })
	s := httptest.NewServer(all)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return k
}

// publish has the API server publish these keys, and sign with the last one.
func (w *world) publish(t *testing.T, keys ...*ecdsa.PrivateKey) {
	t.Helper()
	var set jose.JSONWebKeySet
	for _, k := range keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.Public(), Use: "sig"})
		w.signs.Store(k)
	}
	b, err := json.Marshal(set)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	w.published.Store(&b)
}

// token is one of the account that the plan admits.
func (w *world) token(context.Context) (string, error) {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: w.signs.Load()}, nil)
	if err != nil {
		return "", err
	}
	claims := jwt.Claims{Subject: "system:serviceaccount:backup:tool", Audience: jwt.Audience{audience}, Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour))}
	return jwt.Signed(s).Claims(claims).Serialize()
}

// An edge is the processes of one edge's pod.
type edge struct {
	ns        *netns.Namespace
	dir       string
	number    int
	secrets   string
	processes map[string]*exec.Cmd
}

func (w *world) newEdge(t *testing.T, number int, secrets string) *edge {
	t.Helper()
	dir, err := os.MkdirTemp("", "oooi-faults-") // A test's own directory has too long a path for a socket.
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	e := &edge{ns: netns.New(t), dir: dir, number: number, secrets: secrets, processes: map[string]*exec.Cmd{}}
	w.vlan.Attach(t, e.ns, "net1", "", edgeOnVLAN(number)+"/24", "192.168.100.2/32", "192.168.100.3/32")
	w.pods.Attach(t, e.ns, "eth0", "", edgeOnPods(number)+"/24")
	for _, device := range []string{"all", "net1", "eth0"} {
		e.ns.Sysctl(t, "net/ipv4/conf/"+device+"/forwarding", "0")
	}
	e.ns.Route(t, "0.0.0.0/0", "10.128.0.10")
	programs.WriteFile(t, dir, "plan.json", string(planWith(everything()).JSON()))
	w.start(t, e, "dhcp", "--watch")
	w.start(t, e, wire.Access, "--watched-by", "dhcp")
	return e
}

// start runs a program of an edge, which finds the token of its account in the usual place.
func (w *world) start(t *testing.T, e *edge, name string, more ...string) {
	t.Helper()
	const script = `mount -t tmpfs none /run && mkdir -p "$1" && cp "$2"/* "$1" && shift 2 && exec "$@"`
	args := append([]string{"-c", script, "-", wire.TokenDir, e.secrets, w.program, name,
		"--plan", filepath.Join(e.dir, "plan.json"), "--edge", strconv.Itoa(e.number), "--interface", "net1", "--run-dir", e.dir}, more...)
	c := e.ns.Command(context.WithoutCancel(t.Context()), "sh", args...)
	c.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST="+apiHost, "KUBERNETES_SERVICE_PORT="+apiPort)
	said := &programs.Output{}
	c.Stdout, c.Stderr = said, said
	NewWithT(t).Expect(c.Start()).To(Succeed())
	e.processes[name] = c // ip, sh and the program are one process.
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("edge %d, %s said:\n%s", e.number, name, said)
		}
	})
}

// end ends a program of an edge with a signal, and returns when it has ended.
func (e *edge) end(t *testing.T, name string, x syscall.Signal) {
	t.Helper()
	NewWithT(t).Expect(e.processes[name].Process.Signal(x)).To(Succeed())
	_ = e.processes[name].Wait()
}
