// This file has the processes of the bench: what plays the API server, the plain reverse proxy, and the program.

package apiproxybench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

const (
	// items is how many objects of 1 kB a list has, for 30 MB, and events how many a watch has.
	items, events = 29_000, 20_000
	// The API server's group, and another one that no rule names.
	renamedGroup, otherGroup = "internal.virt.example", "other.virt.example"
	ourProgram               = "OOOI_APIPROXY_BINARY"
	rulesText                = `version: 1
groups:
- client: kubevirt.io
  server: internal.virt.example
  kindPrefix: Internal
  resourcePrefix: internal
  resources: {virtualmachines: VirtualMachine, virtualmachineinstances: VirtualMachineInstance}
keys:
- {client: kubevirt.io/, server: internal.virt.example/}
`
)

// TestMain makes the test binary the API server and the plain proxy, too.
func TestMain(m *testing.M) {
	programs.Main(m, func() {
		if err := play(os.Args[1:]); err != nil {
			log.Fatal(err)
		}
	})
}

// play serves HTTPS with the certificate and the key in two files. With a URL, it is the plain proxy in front of it.
func play(args []string) error {
	pair, err := tls.LoadX509KeyPair(args[0], args[1])
	if err != nil {
		return err
	}
	handler := http.Handler(newAPI())
	if len(args) > 2 {
		to, err := url.Parse(args[2])
		if err != nil {
			return err
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			return err
		}
		forward := httputil.NewSingleHostReverseProxy(to)
		forward.FlushInterval, forward.Transport = -1, transport(leaf)
		handler = forward
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("address %s\n", listener.Addr())
	server := &http.Server{Handler: handler, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}} //nolint:gosec // It ends with the bench.
	return server.ServeTLS(listener, "", "")
}

// transport trusts one certificate, and uses one connection.
func transport(trusted *x509.Certificate) *http.Transport {
	pool := x509.NewCertPool()
	pool.AddCert(trusted)
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true, DisableCompression: true}
}

// object is a VM of 1 kB, as JSON.
func object(group, kind string, number int) string {
	text := fmt.Sprintf(`{"apiVersion":"%[1]s/v1","kind":"%[2]sInstance","metadata":{"name":"worker-%[3]d","namespace":"clusters-blue","uid":"0d3f9a5e-6b1c-4e0a-9d57-%012[3]d","resourceVersion":"%[3]d","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z",`+
		`"labels":{"%[1]s/os":"linux","%[1]s/nodePool":"blue-1","app":"worker"},"annotations":{"%[1]s/latest-observed-api-version":"v1"},"finalizers":["%[1]s/foregroundDeleteVirtualMachine"],`+
		`"ownerReferences":[{"apiVersion":"%[1]s/v1","kind":"%[2]s","name":"worker-%[3]d","uid":"1c0de5a1-93aa-4c38-8f1e-%012[3]d","controller":true,"blockOwnerDeletion":true}]},`+
		`"spec":{"domain":{"cpu":{"cores":4,"sockets":1,"threads":1},"memory":{"guest":"16Gi"},"devices":{"interfaces":[{"name":"default","bridge":{},"macAddress":"02:00:00:00:00:01"}]}},"networks":[{"name":"default","multus":{"networkName":"vlan100"}}]},`+
		`"status":{"phase":"Running","nodeName":"node-1","message":"`, group, kind, number)
	const end = `"}}`
	return text + strings.Repeat("x", max(0, 1024-len(text)-len(end))) + end
}

// newAPI answers with bodies that are in memory.
func newAPI() *http.ServeMux {
	mux := http.NewServeMux()
	for group, kind := range map[string]string{renamedGroup: "InternalVirtualMachine", otherGroup: "VirtualMachine"} {
		plural := strings.ToLower(kind) + "instances"
		var list, watch strings.Builder
		fmt.Fprintf(&list, `{"apiVersion":"%s/v1","kind":"%sInstanceList","metadata":{"resourceVersion":"1"},"items":[`, group, kind)
		for i := range items {
			if i > 0 {
				list.WriteByte(',')
			}
			list.WriteString(object(group, kind, i))
		}
		list.WriteString("]}\n")
		for i := range events {
			fmt.Fprintf(&watch, `{"type":"MODIFIED","object":%s}`+"\n", object(group, kind, i))
		}
		mux.HandleFunc("/apis/"+group+"/v1/"+plural, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Query().Get("watch") == "" {
				_, _ = io.WriteString(w, list.String())
				return
			}
			for event := range strings.Lines(watch.String()) {
				_, _ = io.WriteString(w, event)
				_ = http.NewResponseController(w).Flush()
			}
		})
		mux.HandleFunc("/apis/"+group+"/v1/namespaces/clusters-blue/"+plural+"/a", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, object(group, kind, 1))
		})
	}
	return mux
}

// A site has the API server and what every process needs to know.
type site struct {
	dir, cert, key, api string
	leaf                *x509.Certificate
}

// A way is one path to the API server. The names in its URLs are those of group.
type way struct {
	name, url, group, plural string
	pid                      int
}

func newSite(t *testing.T) *site {
	t.Helper()
	g := NewWithT(t)
	example := httptest.NewTLSServer(nil)
	example.Close()
	pair := example.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	g.Expect(err).NotTo(HaveOccurred())
	s := &site{dir: t.TempDir(), leaf: example.Certificate()}
	s.cert = programs.WriteFile(t, s.dir, "tls.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	s.key = programs.WriteFile(t, s.dir, "tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	s.api, _ = s.play(t)
	return s
}

// play starts a process of this program, and returns its URL.
func (s *site) play(t *testing.T, args ...string) (at string, pid int) {
	t.Helper()
	self, env := programs.Self(t)
	c := exec.CommandContext(context.WithoutCancel(t.Context()), self, append([]string{s.cert, s.key}, args...)...)
	c.Env = env
	return started(t, c, `address (\S+)`)
}

func (s *site) direct() way {
	return way{name: "direct", url: s.api, group: renamedGroup, plural: "internalvirtualmachineinstances"}
}

func (s *site) plain(t *testing.T) way {
	t.Helper()
	w := s.direct()
	w.name = "plain reverse proxy"
	w.url, w.pid = s.play(t, s.api)
	return w
}

// proxy starts the program as a gateway.
func (s *site) proxy(t *testing.T) way {
	t.Helper()
	program := os.Getenv(ourProgram)
	NewWithT(t).Expect(program).NotTo(BeEmpty(), ourProgram+" is the path of oooi-apiproxy")
	kubeconfig := programs.WriteFile(t, s.dir, "kubeconfig", fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\n"+
		"clusters: [{name: a, cluster: {server: '%s', certificate-authority: '%s'}}]\n", s.api, filepath.Join(s.dir, "tls.crt")))
	c := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--rules", programs.WriteFile(t, s.dir, "rules.yaml", rulesText), "--kubeconfig", kubeconfig,
		"--listen", "127.0.0.1:0", "--tls-cert", s.cert, "--tls-key", s.key)
	w := way{name: "oooi-apiproxy", group: "kubevirt.io", plural: "virtualmachineinstances"}
	w.url, w.pid = started(t, c, `"msg":"proxy started","address":"([^"]+)"`)
	return w
}

// started starts a server, and waits until it writes its address.
func started(t *testing.T, c *exec.Cmd, address string) (at string, pid int) {
	t.Helper()
	out := programs.Start(t, c)
	NewWithT(t).Eventually(out.String, "60s", "20ms").Should(MatchRegexp(address))
	return "https://" + regexp.MustCompile(address).FindStringSubmatch(out.String())[1], c.Process.Pid
}
