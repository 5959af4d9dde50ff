package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

func TestMain(m *testing.M) { programs.Main(m, main) }

const rulesText = `version: 1
groups:
- client: kubevirt.io
  server: internal.virt.example
  kindPrefix: Internal
  resourcePrefix: internal
  resources: {virtualmachines: VirtualMachine, virtualmachineinstances: VirtualMachineInstance}
keys:
- {client: kubevirt.io/, server: internal.virt.example/}
hide:
- {group: "", resource: configmaps, name: hidden}
webhooks: {/validate-vm: /internal-validate-vm}
`

// A running is a proxy in a process of its own.
type running struct {
	out *programs.Output
	cmd *exec.Cmd
}

var addressInLog = regexp.MustCompile(`"msg":"proxy started","address":"([^"]+)"`)

// start starts the program, and waits until it listens.
func start(t *testing.T, args ...string) running {
	t.Helper()
	path, env := programs.Self(t)
	c := exec.CommandContext(context.WithoutCancel(t.Context()), path, append([]string{"--rules", programs.WriteFile(t, t.TempDir(), "rules.yaml", rulesText), "--listen", "127.0.0.1:0"}, args...)...)
	c.Env = env
	r := running{programs.Start(t, c), c}
	NewWithT(t).Eventually(r.out.String, time.Minute).Should(MatchRegexp(addressInLog.String()))
	return r
}

func (r running) address() string { return addressInLog.FindStringSubmatch(r.out.String())[1] }

// sidecar starts the program as a sidecar, and returns its kubeconfig.
func sidecar(t *testing.T, args ...string) (running, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	r := start(t, append(args, "--write-kubeconfig", file)...)
	return r, file
}

func configOf(t *testing.T, kubeconfig string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	return config
}

// TestSidecar: only clients with the kubeconfig are served, and the caller's token never reaches the API server.
func TestSidecar(t *testing.T) {
	g := NewWithT(t)
	seen := make(chan http.Header, 10)
	upstream := listen(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"InternalVirtualMachine","apiVersion":"internal.virt.example/v1"}`))
	})
	r, file := sidecar(t, "--server", upstream, "--insecure", "--health-listen", "127.0.0.1:0", "--drain", "1s")
	info, err := os.Stat(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	config := configOf(t, file)
	client, err := rest.HTTPClientFor(config)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(get(t, client, "https://"+r.address()+"/apis/kubevirt.io/v1/virtualmachines/a")).To(Equal(`200 {"kind":"VirtualMachine","apiVersion":"kubevirt.io/v1"}`))
	g.Expect((<-seen).Get("Authorization")).To(BeEmpty())
	for _, token := range []string{"other", ""} {
		config.BearerToken = token
		stranger, err := rest.HTTPClientFor(config)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(get(t, stranger, "https://"+r.address()+"/api")).To(And(HavePrefix("401 "), ContainSubstring(`"kind":"Status"`)), token)
	}

	health := regexp.MustCompile(`"msg":"health started","address":"([^"]+)"`).FindStringSubmatch(r.out.String())[1]
	g.Expect(get(t, http.DefaultClient, "http://"+health+"/readyz")).To(HavePrefix("200"))
	g.Expect(get(t, http.DefaultClient, "http://"+health+"/livez")).To(HavePrefix("200"))
	g.Eventually(func() string { return get(t, http.DefaultClient, "http://"+health+"/metrics") }, time.Minute).Should(And(ContainSubstring(`oooi_apiproxy_requests_total{code="2xx"} 1`), ContainSubstring(`oooi_apiproxy_requests_total{code="4xx"} 2`)))
	g.Expect(r.cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Eventually(func() error { _, err := client.Get("https://" + r.address() + "/api"); return err }, time.Minute).Should(HaveOccurred())
}

// TestClosedConnectionsAreCounted: of connections that one address opens and that send nothing, half of the limit stays. The metric
// counts the others. The port of metrics has a limit of its own, so another address reads them.
func TestClosedConnectionsAreCounted(t *testing.T) {
	g := NewWithT(t)
	r, _ := sidecar(t, "--server", listen(t, func(http.ResponseWriter, *http.Request) {}), "--insecure", "--health-listen", "127.0.0.1:0")
	health := regexp.MustCompile(`"msg":"health started","address":"([^"]+)"`).FindStringSubmatch(r.out.String())[1]
	const beyond = 16
	for address, count := range map[string]int{r.address(): 512/2 + beyond, health: 2 * healthConnections} {
		for range count {
			c, err := net.Dial("tcp", address)
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = c.Close() }()
		}
	}
	other := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext}}
	defer other.CloseIdleConnections()
	g.Eventually(func() string { return get(t, other, "http://"+health+"/metrics") }, time.Minute).Should(ContainSubstring("oooi_apiproxy_closed_connections_total %d\n", beyond), "another address")
}

// TestLargestItem: an item beyond --max-item, of a list or alone, is an error that says so. The default is 64 MiB.
func TestLargestItem(t *testing.T) {
	upstream := listen(t, func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		before, after := `{"kind":"PodList","apiVersion":"v1","items":[`, "]}"
		if r.URL.Query().Has("alone") {
			before, after = "", ""
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, before+`{"apiVersion":"internal.virt.example/v1","a":"`)
		_, _ = io.CopyN(w, zeros{}, int64(size))
		_, _ = io.WriteString(w, `"}`+after)
	})
	for name, row := range map[string]struct {
		args                 []string
		fits, exceeds, limit int
	}{
		"default": {nil, 63 << 20, 64 << 20, 64 << 20},
		"set":     {[]string{"--max-item", "1048576"}, 1_000_000, 1 << 20, 1 << 20},
	} {
		g := NewWithT(t)
		r, file := sidecar(t, append(row.args, "--server", upstream, "--insecure")...)
		client, err := rest.HTTPClientFor(configOf(t, file))
		g.Expect(err).NotTo(HaveOccurred())
		for _, form := range []string{"", "&alone"} {
			ask := func(size int) string {
				return get(t, client, fmt.Sprintf("https://%s/api/v1/pods?size=%d%s", r.address(), size, form))
			}
			answer := ask(row.fits)
			g.Expect(answer[:4]).To(Equal("200 "), name)
			g.Expect(strings.Contains(answer[:200], `"kubevirt.io/v1"`)).To(BeTrue(), name)
			g.Expect(len(answer)).To(BeNumerically(">", row.fits), name)
			refused := ask(row.exceeds)
			g.Expect(refused[:min(len(refused), 500)]).To(And(HavePrefix(`500 {"kind":"Status"`), ContainSubstring("more than %d bytes: too large", row.limit)), name)
		}
	}
}

// zeros has no end.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// TestFlags: what does not belong together is refused in words.
func TestFlags(t *testing.T) {
	dir := t.TempDir()
	rules, broken := programs.WriteFile(t, dir, "rules.yaml", rulesText), programs.WriteFile(t, dir, "broken.yaml", "version: 1\nmore: 2\n")
	side := " --write-kubeconfig " + filepath.Join(dir, "k")
	for args, want := range map[string]string{
		"":                                      `"rules" not set`,
		"--rules " + filepath.Join(dir, "none"): "no such file",
		"rules check " + broken:                 broken + ":2: unknown field more",
		"--rules " + rules + side + " --tls-cert a --tls-key b":               "set only one of them",
		"--rules " + broken + side:                                            broken + ":2: unknown field more",
		"--rules " + rules:                                                    "set --tls-cert and --tls-key for a gateway, or --write-kubeconfig",
		"--rules " + rules + " --tls-cert x":                                  "must be set together",
		"--rules " + rules + side + " --listen 0.0.0.0:0":                     "loopback",
		"--rules " + rules + side + " --server http://127.0.0.1:1":            "finding the API server",
		"--rules " + rules + side + " --server http://192.0.2.1:1 --insecure": "plain HTTP needs --insecure, and a server on this host",
		"--rules " + rules + side + " --max-item 5":                           "--max-item 5",
		"--rules " + rules + side + " --max-item 2000000000":                  "at most 536870912",
		"--rules " + rules + side + " --webhook-listen :0":                    "must be set together",
		"--rules " + rules + side + " --webhook-listen :0 --webhook-target http://x --webhook-tls-cert a --webhook-tls-key b":    "want https",
		"--rules " + rules + side + " --webhook-listen :0 --webhook-target https://x/y --webhook-tls-cert a --webhook-tls-key b": "the paths come from the rules",
	} {
		g := NewWithT(t)
		_, stderr, code := programs.RunSelf(t.Context(), t, "", strings.Fields(args)...)
		g.Expect(code).To(Equal(1), args)
		g.Expect(stderr).To(ContainSubstring(want), args)
	}
}

// TestRulesOfDiscovery: both forms of discovery give rules that can be read.
func TestRulesOfDiscovery(t *testing.T) {
	const want = `version: 1
groups:
- client: kubevirt.io
  server: internal.virt.example
  kindPrefix: "Internal"
  resourcePrefix: "internal"
  resources:
    virtualmachines: VirtualMachine
keys:
- {client: kubevirt.io/, server: internal.virt.example/}
`
	for _, in := range []string{
		`{"kind":"APIResourceList","groupVersion":"internal.virt.example/v1","resources":[{"name":"internalvirtualmachines","kind":"InternalVirtualMachine"},{"name":"internalvirtualmachines/status","kind":"InternalVirtualMachine"},{"name":"others","kind":"Other"}]}`,
		`{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"internal.virt.example"},"versions":[{"resources":[{"resource":"internalvirtualmachines","responseKind":{"kind":"InternalVirtualMachine"}}]}]}]}`,
	} {
		g := NewWithT(t)
		stdout, stderr, code := programs.RunSelf(t.Context(), t, in, "rules", "--group", "kubevirt.io=internal.virt.example", "--kind-prefix", "Internal", "-f", "-")
		g.Expect(code).To(BeZero(), stderr)
		g.Expect(stdout).To(Equal(want))
		file := programs.WriteFile(t, t.TempDir(), "rules.yaml", stdout)
		stdout, stderr, code = programs.RunSelf(t.Context(), t, "", "rules", "check", file)
		g.Expect(code).To(BeZero(), stderr)
		g.Expect(stdout).To(Equal(file + ": valid\n"))
	}
	_, stderr, code := programs.RunSelf(t.Context(), t, "{}", "rules", "--group", "a.b=c.d", "--kind-prefix", "", "-f", "-")
	NewWithT(t).Expect(code).To(Equal(1))
	NewWithT(t).Expect(stderr).To(ContainSubstring("the input has no resources of group c.d: want the answer of /apis/c.d/VERSION"))
}

// TestChangedRulesEndTheProgram: with a word, and only if they are valid.
func TestChangedRulesEndTheProgram(t *testing.T) {
	g := NewWithT(t)
	path, env := programs.Self(t)
	dir := t.TempDir()
	rules := programs.WriteFile(t, dir, "rules.yaml", rulesText)
	c := exec.CommandContext(context.WithoutCancel(t.Context()), path, "--rules", rules, "--listen", "127.0.0.1:0", "--server", "http://127.0.0.1:1", "--insecure", "--write-kubeconfig", filepath.Join(dir, "k"))
	c.Env = env
	out := programs.Start(t, c)
	g.Eventually(out.String, time.Minute).Should(ContainSubstring("proxy started"))
	programs.WriteFile(t, dir, "rules.yaml", "version: 1\nmore: 1\n")
	g.Eventually(out.String, time.Minute).Should(ContainSubstring("new rules rejected"))
	programs.WriteFile(t, dir, "rules.yaml", "version: 1\nkeys: [{client: a/, server: b/}]\n")
	g.Eventually(out.String, time.Minute).Should(ContainSubstring("has changed: restart to use the new rules"))
}
