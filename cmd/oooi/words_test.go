package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestServersSayWhatIsWrong: a server that can't begin says why, and ends.
func TestServersSayWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	plan := filepath.Join("..", "..", "test", "scenarios", "lb-ip", "plan.json")
	missing, broken := filepath.Join(dir, "none"), filepath.Join(dir, "broken")
	NewWithT(t).Expect(os.WriteFile(broken, []byte("#!/bin/sh\necho no such option\nexit 3\n"), 0o755)).To(Succeed())
	type line struct{ args, want string }
	lines := []line{
		{"dns --plan " + plan + " --listen here", "want an IPv4 address and a port"},
		{"dns --plan " + plan + " --listen [::1]:53", "want an IPv4 address and a port"},
		{"proxy --plan " + plan + " --envoy " + missing, "set --envoy"},
		{"proxy --plan " + plan + " --envoy " + broken, "Envoy ended: exit status 3"},
		{"proxy --plan " + plan + " --no-envoy", "--no-envoy needs --run-dir"},
		{"edge failover --plan " + plan, "failover needs --run-dir"},
	}
	// What all of them say.
	for _, server := range []string{"dhcp", "dns", "proxy", "edge failover", "edge acd"} {
		rest := map[string]string{"proxy": " --no-envoy --run-dir " + dir, "edge failover": " --run-dir " + dir}[server]
		lines = append(lines,
			line{server, `"plan" not set`},
			line{server + rest + " --plan " + missing, "no such file"},
			line{server + rest + " --plan " + plan + " --network other", "no network other: there is clusters.vlan100"},
			line{server + rest + " --plan " + plan + " --watch", "--watch is for a pod in a cluster"},
		)
		if server != "edge acd" { // It is of no edge.
			lines = append(lines, line{server + rest + " --plan " + plan + " --edge 3", "no edge 3: there is 1"})
		}
	}
	for _, l := range lines {
		t.Run(strings.ReplaceAll(l.args, dir, ""), func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := oooi(t, "", strings.Fields(l.args)...)
			g.Expect(code).To(Equal(1), stdout)
			g.Expect(stderr).To(ContainSubstring(l.want))
		})
	}
}

// TestDocumentedCommands: what the documents tell a reader to type works as they
// say, from the module's root.
func TestDocumentedCommands(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	pages, err := filepath.Glob(filepath.Join("docs", "*.md"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	tried := map[string]bool{}
	for _, page := range append(pages, "README.md") {
		for _, m := range regexp.MustCompile(`(?m)^    bin/oooi ((plan|lint) [^|>\n]*)$`).FindAllStringSubmatch(read(t, page), -1) {
			tried[m[2]] = true
			t.Run(m[1], func(t *testing.T) {
				g := NewWithT(t)
				_, stderr, code := oooi(t, "", strings.Fields(m[1])...)
				g.Expect(stderr).To(BeEmpty())
				g.Expect(code).To(BeElementOf(0, 2))
			})
		}
	}
	NewWithT(t).Expect(tried).To(And(HaveKey("plan"), HaveKey("lint")))
}
