package operatorbench

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/cldmnky/oooi/test/loopback"
	"github.com/cldmnky/oooi/test/programs"
)

// credentials are a file with those of the operator's ServiceAccount.
func (w *world) credentials(t *testing.T) (file string) {
	t.Helper()
	g := NewWithT(t)
	lasts := int64(24 * 3600)
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &lasts}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "oooi-system", Name: "oooi"}}
	g.Expect(w.Admin.SubResource("token").Create(t.Context(), account, token)).To(Succeed())
	c := api.NewConfig()
	c.Clusters["c"] = &api.Cluster{Server: w.Env.Config.Host, CertificateAuthorityData: w.Env.Config.CAData}
	c.AuthInfos["u"] = &api.AuthInfo{Token: token.Status.Token}
	c.Contexts["x"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	c.CurrentContext = "x"
	file = filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(clientcmd.WriteToFile(*c, file)).To(Succeed())
	return file
}

// A manager is one process of the operator.
type manager struct {
	*exec.Cmd
	metrics string
	ended   chan error
}

// A launcher starts the operator.
type launcher struct {
	oooi, credentials, log string
	// elects says that a leader is elected. Who was killed leads for some seconds more.
	elects bool
}

func (w *world) launcher(t *testing.T) launcher {
	t.Helper()
	return launcher{oooi: programs.RequireOwn(t, "oooi"), credentials: w.credentials(t), log: filepath.Join(t.TempDir(), "manager.log")}
}

// through changes l: the operator reaches the API server through x only.
func (l *launcher) through(t *testing.T, x *gate) {
	t.Helper()
	g := NewWithT(t)
	c, err := clientcmd.LoadFromFile(l.credentials)
	g.Expect(err).NotTo(HaveOccurred())
	c.Clusters["c"] = &api.Cluster{Server: x.url, InsecureSkipTLSVerify: true}
	l.credentials = filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(clientcmd.WriteToFile(*c, l.credentials)).To(Succeed())
}

// start runs the operator until the test ends, or earlier.
func (l launcher) start(t *testing.T) *manager {
	t.Helper()
	g := NewWithT(t)
	address := loopback.Reserve(t).String()
	log, err := os.OpenFile(l.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = log.Close() }()
	m := &manager{metrics: "http://" + address + "/metrics", ended: make(chan error, 1)}
	m.Cmd = exec.Command(l.oooi, "manager", fmt.Sprintf("--leader-elect=%t", l.elects), "--metrics-bind-address="+address, "--health-probe-bind-address=0")
	m.Env = append(os.Environ(), "KUBECONFIG="+l.credentials, "POD_NAMESPACE=oooi-system", "SERVICE_ACCOUNT=oooi",
		"RELATED_IMAGE_EDGE=localhost/oooi-edge:bench", "RELATED_IMAGE_ENVOY=localhost/envoy:bench", "KUBERNETES_SERVICE_HOST=", "HTTPS_PROXY=", "HTTP_PROXY=")
	m.Stderr = log
	g.Expect(m.Start()).To(Succeed())
	go func() { m.ended <- m.Wait() }()
	t.Cleanup(func() {
		m.stop(syscall.SIGKILL)
		if t.Failed() {
			t.Logf("the end of the operator's log:\n%s", tail(l.log, 20))
		}
	})
	return m
}

// stop sends a signal, and waits until the process has ended.
func (m *manager) stop(s syscall.Signal) {
	_ = m.Process.Signal(s) // It may have ended.
	m.ended <- <-m.ended
}

func tail(file string, lines int) string {
	text, _ := os.ReadFile(file) // For people.
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// values are those of one metric.
func (m *manager) values(name string) ([]*dto.Metric, error) {
	r, err := http.Get(m.metrics)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(r.Body)
	return all[name].GetMetric(), err
}

// ready is how many clusters the operator has reconciled since it started, and how many of these
// are ready.
func (m *manager) ready() (reconciled, ready int) {
	all, _ := m.values("oooi_hosted_cluster_ready") // Later, if not now.
	for _, v := range all {
		reconciled++
		ready += int(v.GetGauge().GetValue())
	}
	return reconciled, ready
}

// passes is how many reconciles there were.
func (m *manager) passes(t *testing.T) (n int) {
	t.Helper()
	all, err := m.values("controller_runtime_reconcile_total")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, v := range all {
		n += int(v.GetCounter().GetValue())
	}
	return n
}

// A cost is what the process has used.
type cost struct {
	cpu time.Duration
	// memory and peak are resident bytes.
	memory, peak int64
}

func (m *manager) cost(t *testing.T) cost {
	t.Helper()
	g := NewWithT(t)
	cpu, err := programs.CPUTime(m.Process.Pid)
	g.Expect(err).NotTo(HaveOccurred())
	memory, peak, err := programs.Memory(m.Process.Pid)
	g.Expect(err).NotTo(HaveOccurred())
	return cost{cpu, memory, peak}
}

func (c cost) String() string {
	return fmt.Sprintf("%.1f CPU seconds, %d MiB, peak %d MiB", c.cpu.Seconds(), c.memory>>20, c.peak>>20)
}
