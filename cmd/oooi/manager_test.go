package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/controllers"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/loopback"
)

// TestManagerReportsMissingSettings before it connects to a cluster.
func TestManagerReportsMissingSettings(t *testing.T) {
	me := types.NamespacedName{Namespace: "oooi-system", Name: "oooi"}
	for name, c := range map[string]struct {
		options controllers.Options
		want    string
	}{
		"no image":           {controllers.Options{Release: desired.Release{EnvoyImage: "y"}, ServiceAccount: me}, "RELATED_IMAGE_EDGE"},
		"no image of Envoy":  {controllers.Options{Release: desired.Release{Image: "x"}, ServiceAccount: me}, "RELATED_IMAGE_ENVOY"},
		"no namespace":       {controllers.Options{Release: desired.Release{Image: "x", EnvoyImage: "y"}, ServiceAccount: types.NamespacedName{Name: "oooi"}}, "POD_NAMESPACE"},
		"no service account": {controllers.Options{Release: desired.Release{Image: "x", EnvoyImage: "y"}, ServiceAccount: types.NamespacedName{Namespace: "oooi-system"}}, "SERVICE_ACCOUNT"},
		"nothing":            {controllers.Options{Release: desired.Release{Image: "x", EnvoyImage: "y"}, ServiceAccount: me}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := managerOptions{controllers: c.options}.validate()
			if c.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

// TestManagerTakesImagesFromItsEnvironment, which is how a mirror or a test
// cluster names others.
func TestManagerTakesImagesFromItsEnvironment(t *testing.T) {
	g := NewWithT(t)
	t.Setenv(command.EnvEnvoyImage, "localhost/envoy:dev")
	t.Setenv(command.EnvEdgeImage, "localhost/oooi-edge:dev")
	g.Expect(environment().EnvoyImage).To(Equal("localhost/envoy:dev"))
	g.Expect(environment().Image).To(Equal("localhost/oooi-edge:dev"))
}

// TestManagerKnowsItsEnvironment, as each pod of the cluster can.
func TestManagerKnowsItsEnvironment(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "resolv.conf")
	g.Expect(os.WriteFile(file, []byte("search oooi-system.svc.cluster.local svc.cluster.local\nnameserver 172.30.0.10\nnameserver fd02::a\noptions ndots:5\n"), 0o600)).To(Succeed())
	t.Setenv(wire.APIServerVariable, "172.30.0.1")
	m, err := managementCluster(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.Resolvers).To(Equal([]netip.Addr{netip.MustParseAddr("172.30.0.10"), netip.MustParseAddr("fd02::a")}))
	g.Expect(m.APIServers).To(Equal([]netip.Addr{netip.MustParseAddr("172.30.0.1")}))
	t.Setenv(wire.APIServerVariable, "")
	m, err = managementCluster(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.APIServers).To(BeEmpty())
	_, err = managementCluster(file + "x")
	g.Expect(err).To(MatchError(ContainSubstring("resolver")))
}

// TestManagerTakesTheProxyFromItsEnvironment, where OLM writes the cluster's.
func TestManagerTakesTheProxyFromItsEnvironment(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("HTTPS_PROXY", "http://proxy.example.com:3128")
	t.Setenv("NO_PROXY", ".example.com")
	g.Expect(environment().Proxy.HTTPSProxy).To(Equal("http://proxy.example.com:3128"))
	g.Expect(environment().Proxy.NoProxy).To(Equal(".example.com"))
}

// managerIsReadyWithoutHyperShift, on a real API server that knows no kind
// but Kubernetes' own.
func managerIsReadyWithoutHyperShift(t *testing.T, server *apiserver.Server) {
	g := NewWithT(t)
	address := loopback.Reserve(t).String()
	mgr, err := newManager(server.Env.Config, managerOptions{metrics: "0", health: address, leaderElect: true, controllers: controllers.Options{
		Release: desired.Release{Image: "localhost/oooi-edge:dev", EnvoyImage: "localhost/envoy:dev"}, ServiceAccount: types.NamespacedName{Namespace: "default", Name: "oooi"},
	}}, logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	g.Eventually(readyz(address)).WithTimeout(time.Minute).Should(Equal(http.StatusOK))
	g.Eventually(mgr.Elected()).WithTimeout(time.Minute).Should(BeClosed())
	stop()
	g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(BeNil()), "it ends with its context")
}

// readyz is the status of the readiness probe at address.
func readyz(address string) func() (int, error) {
	return func() (int, error) {
		r, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			return 0, err
		}
		return r.StatusCode, r.Body.Close()
	}
}

// TestPortsOfTheOperator: a pod that opens twice as many connections to a port of the operator as there are has half of them, and
// others are answered. So it cannot fill the memory of the operator, or keep the kubelet's probes away.
func TestPortsOfTheOperator(t *testing.T) {
	g := NewWithT(t)
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0"})
	g.Expect(err).NotTo(HaveOccurred())
	ports := map[string]string{"/metrics": loopback.Reserve(t).String(), "/healthz": loopback.Reserve(t).String()}
	g.Expect(serveCallers(mgr, ports["/metrics"], map[string]http.Handler{"/metrics": promhttp.Handler()})).To(Succeed())
	g.Expect(serveCallers(mgr, ports["/healthz"], probes(healthz.Ping))).To(Succeed())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() { stop(); <-ended }()
	for path, address := range ports {
		// answered reports whether the server takes a connection and answers there. It stays open.
		answered := func(from string) bool {
			c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(ctx, "tcp", address)
			if err != nil {
				return false
			}
			t.Cleanup(func() { _ = c.Close() })
			_, _ = io.WriteString(c, "HEAD "+path+" HTTP/1.1\r\nHost: a\r\n\r\n") // It fails if the connection is closed.
			answer, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodHead})
			return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
		}
		g.Eventually(func() bool { return answered("127.0.0.3") }, time.Minute).Should(BeTrue(), path)
		count := 0
		for range 2 * portConnections {
			if answered("127.0.0.1") {
				count++
			}
		}
		g.Expect(count).To(And(BeNumerically("<=", portConnections/2), BeNumerically(">", portConnections/4)), path)
		g.Expect(answered("127.0.0.2")).To(BeTrue(), "%s from another address", path)
	}
}
