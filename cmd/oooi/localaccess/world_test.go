// This file plays the API server of a management cluster for `oooi access`, in front of real access proxies.

package localaccess

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/cldmnky/oooi/access"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/loopback"
)

// An accessWorld is an API server that lists pods of edges, forwards their ports over WebSockets or SPDY, and gives tokens. The access
// proxies behind it are the real ones. It leaves out authentication, authorization but for forbids, the kubelet, and the container
// runtime, which ends a forwarded connection a second after one direction has ended.
type accessWorld struct {
	t          *testing.T
	api        *httptest.Server
	kubeconfig string
	key        *ecdsa.PrivateKey

	mu    sync.Mutex
	edges []*playedEdge
	// vms are listeners on this host by the address that an edge dials.
	vms      map[string]string
	accounts []string
	// noSockets: WebSockets are refused. Forbids is a resource that the user may not use. Cuts: as the container runtime, at once.
	noSockets, cuts bool
	forbids         string
	upgrades        []string
	upgraded        []net.Conn
	asked           []authenticationv1.TokenRequest
}

// A playedEdge is the pod of an edge.
type playedEdge struct {
	corev1.Pod
	// at is where its access proxy listens. Stop ends it.
	at   string
	stop func()
}

// newAccessWorld is a hosted cluster with so many edges that are Ready.
func newAccessWorld(t *testing.T, edges int, change func(w *accessWorld)) *accessWorld {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	w := &accessWorld{t: t, vms: map[string]string{}, key: key}
	if change != nil {
		change(w)
	}
	w.api = httptest.NewUnstartedServer(w.handler())
	w.api.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateHijacked {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.upgraded = append(w.upgraded, c)
		}
	}
	w.api.Start()
	t.Cleanup(w.api.Close)
	t.Cleanup(w.cut)
	w.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: \"" + w.api.URL + "\"}}]\n" +
		"contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {token: the-users-secret}}]\ncurrent-context: a\n"
	if err := os.WriteFile(w.kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range edges {
		w.edge(fmt.Sprintf("edge-%d", i+1), "blue")
	}
	return w
}

// edge adds a pod that is Ready.
func (w *accessWorld) edge(name, network string) *playedEdge {
	w.t.Helper()
	e := &playedEdge{Pod: corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "clusters-blue", Labels: wire.NamedLabels(wire.NameEdge)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "dns"}, {Name: wire.Access,
			Ports: []corev1.ContainerPort{{Name: wire.AccessPortName, ContainerPort: 3128}}}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}}
	e.Labels[wire.LabelNetwork] = wire.NetworkLabel(network)
	e.at, e.stop = w.proxy(network)
	w.t.Cleanup(e.stop)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.edges = append(w.edges, e)
	return e
}

// remove deletes the pod of an edge, and ends it.
func (w *accessWorld) remove(name string) {
	w.mu.Lock()
	i := slices.IndexFunc(w.edges, func(e *playedEdge) bool { return e.Name == name })
	e := w.edges[i]
	w.edges = slices.Delete(w.edges, i, i+1)
	w.mu.Unlock()
	e.stop()
}

// VMAt implements access.VMs.
func (w *accessWorld) VMAt(a netip.Addr) string {
	if a == netip.MustParseAddr("192.168.100.50") {
		return "worker-1"
	}
	return ""
}

// VMNamed implements access.VMs.
func (w *accessWorld) VMNamed(name string) ([]netip.Addr, bool) {
	if name == "worker-1" {
		return w.Leased(), true
	}
	return nil, false
}

// Leased implements access.VMs.
func (w *accessWorld) Leased() []netip.Addr {
	return []netip.Addr{netip.MustParseAddr("192.168.100.50")}
}

// proxy starts the access proxy of an edge. Network blue opens the VM, and another one its host only.
func (w *accessWorld) proxy(of string) (at string, stop func()) {
	w.t.Helper()
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: w.key.Public(), KeyID: "a", Algorithm: string(jose.ES256), Use: "sig"}}})
	if err != nil {
		w.t.Fatal(err)
	}
	keys, err := access.ParseKeys(set)
	if err != nil {
		w.t.Fatal(err)
	}
	known := func() access.Keys { return keys }
	s := access.NewServer(access.Options{
		VMs: w, Keys: known, Dial: w.dial, IsVM: func(netip.Addr) error { return nil }, Ended: func(access.Tunnel) {},
		Refused: func(access.Refused) {}, Metrics: access.NewMetrics(prometheus.NewRegistry(), known),
	})
	n := network.Network{CIDR: netip.MustParsePrefix("192.168.100.0/24"), Access: network.Access{Port: 3128, Accounts: w.accounts, Audience: "oooi-access.clusters-blue",
		Destinations: []network.AccessDestination{{Name: "nodes", Port: 22}, {Name: "nodes", Port: 7}, {Name: "nodes", Port: 9100}}}}
	if of != "blue" {
		n.Access.Destinations = []network.AccessDestination{{Name: "192.168.100.60", Port: 7, Addresses: []netip.Addr{netip.MustParseAddr("192.168.100.60")}}}
	}
	s.Set(access.Policy{Network: n, Edge: netip.MustParseAddr("192.168.100.4")})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	running.Go(func() { _ = s.Serve(ctx, l, 0) })
	return l.Addr().String(), func() { cancel(); running.Wait() }
}

// dial dials a host of the network.
func (w *accessWorld) dial(ctx context.Context, _ netip.Addr, to netip.AddrPort) (*net.TCPConn, error) {
	w.mu.Lock()
	at := w.vms[to.String()]
	w.mu.Unlock()
	if at == "" {
		return nil, errors.New("connection refused")
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", at)
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// host makes a server of an address and port on the network.
func (w *accessWorld) host(address string, handle func(*net.TCPConn)) {
	w.t.Helper()
	at := loopback.Serve(w.t, handle)
	w.mu.Lock()
	w.vms[address] = at
	w.mu.Unlock()
}

// echoes sends back what it gets, until the other side sends no more.
func echoes(c *net.TCPConn) { _, _ = io.Copy(c, c); _ = c.CloseWrite() }

// counts answers once the other side sends no more.
func counts(c *net.TCPConn) {
	b, _ := io.ReadAll(c)
	_, _ = fmt.Fprintf(c, "%d bytes\n", len(b))
}

// greets sends one line, and waits for the end.
func greets(c *net.TCPConn) {
	_, _ = io.WriteString(c, "hello\n")
	_, _ = io.Copy(io.Discard, c)
}

// leaves sends one line, and ends.
func leaves(c *net.TCPConn) { _, _ = io.WriteString(c, "hello\n") }

// exposes answers one HTTP request.
func exposes(c *net.TCPConn) {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	body := "up " + r.Host + r.URL.Path + strings.Join(r.Header["Proxy-Authorization"], "") + "\n"
	_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// token is one of a ServiceAccount for the access proxies.
func (w *accessWorld) token(namespace, name string) string {
	w.t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: w.key, KeyID: "a"}}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	now := time.Now()
	token, err := jwt.Signed(s).Claims(map[string]any{"iss": "https://kubernetes.default.svc", "sub": "system:serviceaccount:" + namespace + ":" + name,
		"aud": []string{"oooi-access.clusters-blue"}, "exp": now.Add(time.Hour).Unix(), "nbf": now.Unix(), "iat": now.Unix()}).Serialize()
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// handler is the API server.
func (w *accessWorld) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/clusters-blue/pods", func(rw http.ResponseWriter, _ *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.refuses(rw, "pods") {
			return
		}
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
		for _, e := range w.edges {
			list.Items = append(list.Items, e.Pod)
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(list)
	})
	mux.HandleFunc("/api/v1/namespaces/clusters-blue/pods/{name}/portforward", w.portForward)
	mux.HandleFunc("POST /api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.refuses(rw, "serviceaccounts/token") {
			return
		}
		var ask authenticationv1.TokenRequest
		body, _ := io.ReadAll(r.Body)
		if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, &ask); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		w.asked = append(w.asked, ask)
		ask.Status.Token = w.token(r.PathValue("namespace"), r.PathValue("name"))
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(rw).Encode(ask)
	})
	return mux
}

// refuses answers as an API server does to a user without a right.
func (w *accessWorld) refuses(rw http.ResponseWriter, resource string) bool {
	if w.forbids != resource {
		return false
	}
	w.status(rw, http.StatusForbidden, metav1.StatusReasonForbidden, "User \"jo\" cannot use resource \""+resource+"\"")
	return true
}

func (w *accessWorld) status(rw http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(code)
	_ = json.NewEncoder(rw).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message})
}
