package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/cldmnky/oooi/controllers"
	"github.com/cldmnky/oooi/test/testbed"
)

// TestManagerSaysWhatIsMissing: in words, before it talks to any cluster.
func TestManagerSaysWhatIsMissing(t *testing.T) {
	me := types.NamespacedName{Namespace: "oooi-system", Name: "oooi"}
	for name, c := range map[string]struct {
		options controllers.Options
		want    string
	}{
		"no image":           {controllers.Options{ServiceAccount: me}, "RELATED_IMAGE_OOOI"},
		"no namespace":       {controllers.Options{Image: "x", ServiceAccount: types.NamespacedName{Name: "oooi"}}, "POD_NAMESPACE"},
		"no service account": {controllers.Options{Image: "x", ServiceAccount: types.NamespacedName{Namespace: "oooi-system"}}, "SERVICE_ACCOUNT"},
		"nothing":            {controllers.Options{Image: "x", ServiceAccount: me}, ""},
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
	t.Setenv(envEnvoyImage, "")
	g.Expect(environment().EnvoyImage).To(Equal(defaultEnvoyImage))
	t.Setenv(envEnvoyImage, "localhost/envoy:dev")
	t.Setenv(envImage, "localhost/oooi:dev")
	g.Expect(environment().EnvoyImage).To(Equal("localhost/envoy:dev"))
	g.Expect(environment().Image).To(Equal("localhost/oooi:dev"))
}

// TestManagerIsReadyWithoutHyperShift, on a real API server that knows no kind
// but Kubernetes' own.
func TestManagerIsReadyWithoutHyperShift(t *testing.T) {
	g := NewWithT(t)
	env := &envtest.Environment{BinaryAssetsDirectory: testbed.RequireEnvtestAssets(t)}
	config, err := env.Start()
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(env.Stop()).To(Succeed()) }()

	free, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	address := free.Addr().String()
	g.Expect(free.Close()).To(Succeed())
	mgr, err := newManager(config, managerOptions{metrics: "0", health: address, leaderElect: true, controllers: controllers.Options{
		Image: "localhost/oooi:dev", EnvoyImage: defaultEnvoyImage, ServiceAccount: types.NamespacedName{Namespace: "default", Name: "oooi"},
	}}, logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	g.Eventually(func() (int, error) {
		r, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			return 0, err
		}
		defer r.Body.Close()
		return r.StatusCode, nil
	}).WithTimeout(30 * time.Second).Should(Equal(http.StatusOK))
	g.Eventually(mgr.Elected()).WithTimeout(30 * time.Second).Should(BeClosed())
	stop()
	g.Eventually(ended).WithTimeout(30*time.Second).Should(Receive(BeNil()), "it ends when it is told to")
}
