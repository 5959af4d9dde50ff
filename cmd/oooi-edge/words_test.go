package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/programs"
)

// TestVersionTellsOfFIPS: the mode that the process is in.
func TestVersionTellsOfFIPS(t *testing.T) {
	for _, mode := range []string{"on", "off"} {
		t.Setenv("GODEBUG", "fips140="+mode)
		stdout, stderr, code := programs.RunSelf(t.Context(), t, "", "--version")
		g := NewWithT(t)
		g.Expect(code).To(BeZero(), stderr)
		g.Expect(stdout).To(ContainSubstring("FIPS 140-3 mode " + mode))
		g.Expect(stdout).NotTo(ContainSubstring("clock"), "only a testbed's says that it plays one")
	}
}

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
		{"ntp --plan " + plan + " --listen 0.0.0.0", "want an IPv4 address and a port"},
		{"proxy --plan " + plan + " --envoy " + missing, "set --envoy"},
		{"proxy --plan " + plan + " --envoy " + broken, "Envoy ended: exit status 3"},
		{"proxy --plan " + plan + " --no-envoy", "--no-envoy needs --run-dir"},
		{"failover --plan " + plan, "failover needs --run-dir"},
		{"access --plan " + plan + " --watch", "access has no --watch"},
	}
	// What all of them say.
	for _, server := range []string{"dhcp", "dns", "ntp", "proxy", "failover", "acd"} {
		rest := map[string]string{"proxy": " --no-envoy --run-dir " + dir, "failover": " --run-dir " + dir}[server]
		lines = append(lines,
			line{server, `"plan" not set`},
			line{server + rest + " --plan " + missing, "no such file"},
			line{server + rest + " --plan " + plan + " --network other", "no network other: there is clusters.vlan100"},
			line{server + rest + " --plan " + plan + " --watch", "--watch is for a pod in a cluster"},
		)
		if server != "acd" { // It is of no edge.
			lines = append(lines, line{server + rest + " --plan " + plan + " --edge 3", "no edge 3: there is 1"})
		}
	}
	for _, l := range lines {
		t.Run(strings.ReplaceAll(l.args, dir, ""), func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := programs.RunSelf(t.Context(), t, "", strings.Fields(l.args)...)
			g.Expect(code).To(Equal(1), stdout)
			g.Expect(stderr).To(ContainSubstring(l.want))
		})
	}
}
