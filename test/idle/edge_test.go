// This file starts the edges that are measured, as their pods would.

package idle

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/containers"
	"github.com/cldmnky/oooi/test/netns"
)

const (
	apiHost = "10.9.0.1"
	apiPort = "6443"
)

// An edge is the processes of one edge's pod.
type edge struct {
	ns        *netns.Namespace
	dir, oooi string
	// processes by the name of their container.
	processes map[string]int
	// containers are what each process holds.
	containers containers.Pod
	// probes is the CPU time of the kubelet's probes so far.
	probes time.Duration
}

// newEdge starts an edge of its own copies of the programs, so that it shares no
// pages with another edge.
func newEdge(t *testing.T, vlan, pods *netns.Segment, number int, secrets, oooi, program, plan string) *edge {
	t.Helper()
	g := NewWithT(t)
	dir, err := os.MkdirTemp("", "oooi-idle-")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	e := &edge{ns: netns.New(t), dir: dir, processes: map[string]int{}}
	e.oooi, program = e.copy(t, oooi, "oooi"), e.copy(t, program, "envoy")
	own := "192.168.100." + strconv.Itoa(3+number)
	vlan.Attach(t, e.ns, "net1", "", "192.168.100.2/32", own+"/24", "192.168.100.3/32", "10.240.0.200/32")
	pods.Attach(t, e.ns, "eth0", "", "10.9.0."+own[len("192.168.100."):]+"/24")
	for _, device := range []string{"net1", "eth0"} {
		e.ns.Sysctl(t, "net/ipv4/conf/"+device+"/forwarding", "0")
	}
	e.ns.Route(t, "0.0.0.0/0", apiHost)
	services := []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy}
	e.containers = containers.NewPod(t, dir, e.oooi, os.Getuid(), services, secrets)
	flags := []string{"--plan", plan, "--network", "clusters.vlan100", "--edge", strconv.Itoa(number), "--interface", "net1", "--run-dir", wire.RunDir}
	run := func(name string, args ...string) {
		e.start(t, name, e.oooi, slices.Concat(args, flags, e.containers.Watching(name))...)
	}
	run("dhcp", "dhcp")
	run("dns", "dns")
	run("proxy", "proxy", "--no-envoy")
	e.start(t, wire.Envoy, program, envoy.Arguments(wire.RunDir, "oooi")...)
	if agent := []string{"edge", "failover"}; exec.Command(e.oooi, append(agent, "--help")...).Run() == nil {
		run(wire.Failover, agent...)
	} else {
		run("guard", "guard") // A build from before it was renamed.
	}
	return e
}

func (e *edge) copy(t *testing.T, from, name string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("cp", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v: %s", from, err, out)
	}
	return to
}

// start runs a container's process with what its container holds.
func (e *edge) start(t *testing.T, name, program string, args ...string) {
	t.Helper()
	script := e.containers.Mounts(name) + ` && exec "$@"`
	c := e.ns.Command(context.WithoutCancel(t.Context()), "sh", append([]string{"-c", script, "-", program}, args...)...)
	c.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST="+apiHost, "KUBERNETES_SERVICE_PORT="+apiPort)
	output, err := os.Create(filepath.Join(e.dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = output, output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	e.processes[name] = c.Process.Pid // ip, sh and the program are one process.
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if said, err := os.ReadFile(output.Name()); err == nil && t.Failed() {
			t.Logf("%s said:\n%s", name, said)
		}
	})
}

// probe asks all servers whether they are ready, as the kubelet does.
func (e *edge) probe(ctx context.Context) error {
	for name := range e.processes {
		if name == wire.Envoy {
			continue // The probe of `oooi proxy` asks Envoy.
		}
		args := []string{"edge", "probe", name}
		if _, older := e.processes["guard"]; older {
			args = args[1:]
		}
		c := exec.CommandContext(ctx, e.oooi, append(args, "--run-dir", e.dir)...)
		err := c.Run()
		if c.ProcessState != nil {
			e.probes += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// serveAPI serves config's API server at apiHost in ns, to pods without a credential
// of their own, and gives the directory with a service account's files.
func serveAPI(t *testing.T, ns *netns.Namespace, config *rest.Config, namespace string) string {
	t.Helper()
	g := NewWithT(t)
	transport, err := rest.TransportFor(config)
	g.Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(config.Host)
	g.Expect(err).NotTo(HaveOccurred())
	certificate, ca := newCertificate(t)
	s := &http.Server{
		Handler: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.Header.Del("Authorization")
			},
			Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}, ErrorLog: log.New(io.Discard, "", 0),
	}
	var l net.Listener
	ns.Do(t, func() { l, err = net.Listen("tcp4", net.JoinHostPort(apiHost, apiPort)) })
	g.Expect(err).NotTo(HaveOccurred())
	go func() { _ = s.ServeTLS(l, "", "") }()
	t.Cleanup(func() { _ = s.Close() })
	dir := t.TempDir()
	for name, text := range map[string][]byte{"ca.crt": ca, "token": []byte("none"), "namespace": []byte(namespace)} {
		g.Expect(os.WriteFile(filepath.Join(dir, name), text, 0o600)).To(Succeed())
	}
	return dir
}

// newCertificate is one for apiHost, and the authority that it is its own.
func newCertificate(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "idle"}, IPAddresses: []net.IP{net.ParseIP(apiHost)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	g.Expect(err).NotTo(HaveOccurred())
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
