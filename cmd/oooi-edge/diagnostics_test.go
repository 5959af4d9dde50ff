package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// playEnvoy answers at the admin socket of dir.
func playEnvoy(t *testing.T, dir string, answer http.HandlerFunc) {
	t.Helper()
	l, err := rundir.Listen(resources.NewDirs(wire.EnvoyDirs(dir)).Admin())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	s := &http.Server{Handler: answer}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
}

// diagnosed is what the command prints in a namespace, by the parts' names.
func diagnosed(t *testing.T, n *netns.Namespace, dir string) map[string]wire.DiagnosticsPart {
	t.Helper()
	g := NewWithT(t)
	c := command(t, n, "diagnostics", "--run-dir", dir)
	out, err := c.Output()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(out)).To(BeNumerically("<=", wire.DiagnosticsBytes))
	d, err := wire.ReadDiagnostics(out)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Program).NotTo(BeEmpty())
	parts := map[string]wire.DiagnosticsPart{}
	for _, p := range d.Parts {
		parts[p.Name] = p
	}
	return parts
}

// TestDiagnosticsOfTheKernel: the document has the addresses, the routes and the ARP table that the edge has, and says that it runs no
// Envoy.
func TestDiagnosticsOfTheKernel(t *testing.T) {
	g := NewWithT(t)
	v := newVLAN(t, blueService+"/32")
	v.edge.Do(t, func() {
		c, err := net.Dial("udp4", "192.168.100.20:9") // The kernel asks for the MAC.
		g.Expect(err).NotTo(HaveOccurred())
		_, _ = c.Write([]byte("x"))
		_ = c.Close()
	})
	g.Eventually(func() string { return string(diagnosed(t, v.edge, t.TempDir())["neighbors"].Content) }).
		Should(MatchRegexp(`"device":"net1","address":"192\.168\.100\.20","mac":"[0-9a-f:]{17}"`))
	parts := diagnosed(t, v.edge, t.TempDir())
	for name, want := range map[string]string{
		"links":     `{"name":"net1","index":`,
		"addresses": `{"device":"net1","address":"192.168.100.3/32","scope":"universe"}`,
		"routes":    `{"table":254,"type":"unicast","to":"0.0.0.0/0","via":"10.128.0.1","device":"eth0"`,
		"rules":     `"ip rule 32766: from all to all table 254`,
		"sockets":   `"sockets: used `,
		"envoy":     "This edge runs no Envoy.",
	} {
		g.Expect(string(parts[name].Content)).To(ContainSubstring(want), name)
		g.Expect(parts[name].Missing).To(BeEmpty(), name)
	}
}

// TestDiagnosticsOfEnvoy: the document has what a real Envoy has.
func TestDiagnosticsOfEnvoy(t *testing.T) {
	g := NewWithT(t)
	program := programs.RequireEnvoy(t)
	v := newVLAN(t, blueService+"/32")
	greeter(t, v.pod, "10.128.0.1:6443")
	run := fakes.RunDir(t)
	file := filepath.Join(run, "plan.json")
	proxied(t, file, 6443)
	// The proxy starts an Envoy with a run directory of its own; here another container runs it.
	start(t, v.edge, "proxy", "--plan", file, "--run-dir", run, "--no-envoy")
	c := v.edge.Command(context.WithoutCancel(t.Context()), program, resources.Arguments(resources.NewDirs(wire.EnvoyDirs(run)), "oooi", resources.NewLimits(0, 0))...)
	g.Expect(c.Start()).To(Succeed())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	g.Eventually(func() string { return string(diagnosed(t, v.edge, run)["envoyListeners"].Content) }).Should(ContainSubstring(blueService))
	parts := diagnosed(t, v.edge, run)
	for name, want := range map[string]string{
		"envoyBootstrap":     `"admin":`,
		"envoyListeners":     `"port_value":6443`,
		"envoyClusters":      `Cluster"`,
		"envoyEndpoints":     `10.128.0.1`,
		"envoyClusterStates": `::10.128.0.1:6443::health_flags::`,
		"envoyStats":         `server.live: 1`,
	} {
		g.Expect(string(parts[name].Content)).To(ContainSubstring(want), name)
		g.Expect(parts[name].Missing).To(BeEmpty(), name)
	}
}

// TestDiagnosticsAreBounded: of an Envoy that a VM took over, no more than the document may have is in it, and each part that was cut
// says so. What is broken is named, and the rest is there.
func TestDiagnosticsAreBounded(t *testing.T) {
	dir := fakes.RunDir(t)
	big := strings.Repeat("<", 1<<10) // Six bytes each in JSON.
	playEnvoy(t, dir, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/config_dump" && r.URL.Query().Get("resource") == admin.ConfigEndpoints:
			_, _ = fmt.Fprint(w, `{"configs": [{"a": 1}, {"b"`)
		case r.URL.Path == "/config_dump" && r.URL.Query().Has("mask"):
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/config_dump" && r.URL.Query().Get("resource") == admin.ConfigClusters:
			w.WriteHeader(http.StatusNotFound) // As Envoy does while it has none.
		case r.URL.Path == "/config_dump":
			_, _ = fmt.Fprint(w, `{"configs": [`)
			for range 4 << 10 {
				_, _ = fmt.Fprintf(w, `{"x": %q},`, big)
			}
		default:
			for range 4 << 10 {
				_, _ = fmt.Fprintln(w, big)
			}
		}
	})
	g := NewWithT(t)
	stdout, stderr, code := programs.RunSelf(t.Context(), t, "", "diagnostics", "--run-dir", dir)
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(len(stdout)).To(And(BeNumerically("<=", wire.DiagnosticsBytes), BeNumerically(">", 1<<20)))
	d, err := wire.ReadDiagnostics([]byte(stdout))
	g.Expect(err).NotTo(HaveOccurred())
	missing := map[string]string{}
	for _, p := range d.Parts {
		missing[p.Name] = p.Missing
	}
	g.Expect(missing["envoyListeners"]).To(MatchRegexp(`^entries after the first \d+: the part is limited to 1024 KiB$`))
	g.Expect(missing["envoyStats"]).To(MatchRegexp(`^entries after the first \d+: the part is limited to 640 KiB$`))
	g.Expect(missing["envoyEndpoints"]).To(HavePrefix("entries after the first 1: "))
	g.Expect(missing["envoyBootstrap"]).To(Equal("everything: Envoy answers 500 Internal Server Error"))
	g.Expect(missing["envoyClusters"]).To(BeEmpty())
	g.Expect(missing["addresses"]).To(BeEmpty())
}

// TestDiagnosticsEndInTime: what is not read in time is named, and delays nothing else.
func TestDiagnosticsEndInTime(t *testing.T) {
	g := NewWithT(t)
	ctx, end := context.WithCancel(t.Context())
	never, begun := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(never) })
	list := func(text string) func(context.Context, int) ([]json.RawMessage, bool, error) {
		return func(context.Context, int) ([]json.RawMessage, bool, error) {
			return rawList([]string{text}), false, nil
		}
	}
	hangs := func(context.Context, int) ([]json.RawMessage, bool, error) {
		close(begun)
		<-never
		return nil, false, nil
	}
	ends := func(context.Context, int) ([]json.RawMessage, bool, error) {
		<-begun
		end()
		return nil, false, nil
	}
	parts := collect(ctx, []partSource{{"links", 100, list("net1")}, {"routes", 100, hangs}}, []partSource{{"stats", 4, list("too long")}, {"last", 100, ends}})
	g.Expect(parts[0]).To(Equal(wire.DiagnosticsPart{Name: "links", Content: json.RawMessage(`["net1"]`)}))
	g.Expect(parts[1]).To(Equal(wire.DiagnosticsPart{Name: "routes", Missing: "everything: not read within 5s"}))
	g.Expect(parts[2].Missing).To(HavePrefix("entries after the first 0"))
	whole := 0
	for _, s := range append(kernelSources(), envoySources(fakes.RunDir(t))...) {
		whole += s.most
	}
	g.Expect(whole+64<<10).To(BeNumerically("<=", wire.DiagnosticsBytes), "with names and reasons")
}
