package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/commands"
	"github.com/cldmnky/oooi/test/golden"
	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

func TestMain(m *testing.M) { programs.Main(m, main) }

// oooi runs the command in the test's own process, and returns what its process writes and exits with.
func oooi(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return commands.Run(t, subcommands(), stdin, args...)
}

// oooiProcess runs the command as a script does.
func oooiProcess(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return programs.RunSelf(t.Context(), t, stdin, args...)
}

// TestProcess: as a process, the command writes and exits with the same as in the test's own process, where all other tests run it.
func TestProcess(t *testing.T) {
	g := NewWithT(t)
	objects := func(story string) string { return golden.Find(t, story).File(t, "objects.yaml") }
	served := objects("lb-ip")
	text, err := os.ReadFile(served)
	g.Expect(err).NotTo(HaveOccurred())
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
	}{
		"a plan":            {args: []string{"plan", "-f", served}},
		"standard input":    {stdin: string(text), args: []string{"plan", "-o", "json", "-f", "-"}},
		"a plan that waits": {args: []string{"plan", "-f", objects("not-yet-published")}, code: 3},
		"a refused plan":    {args: []string{"plan", "-f", objects("two-clusters-conflict")}, code: 2},
		"no such file":      {args: []string{"plan", "-f", "nonexistent"}, code: 1},
		"a map":             {args: []string{"map", "-f", served}},
		"no map":            {args: []string{"map", "-f", "nonexistent"}, code: 1},
		"yaml":              {args: []string{"plan", "-o", "yaml", "-f", served}},
		"lint":              {args: []string{"lint", "-f", served}},
		"a finding":         {stdin: "apiVersion: v1\nkind: Service\nmetadata: {namespace: clusters, name: git, annotations: {hostedcluster.densityops.com/cidr: x}}\n", args: []string{"lint", "-f", "-"}, code: 2},
		"no such name":      {args: []string{"status", "a/b/c"}, code: 1},
		"no such flag":      {args: []string{"check", "--none"}, code: 1},
		"no such command":   {args: []string{"none"}, code: 1},
		"no such format":    {args: []string{"plan", "-o", "wide", "-f", served}, code: 1},
		"version":           {args: []string{"version", "-o", "json"}},
		"help":              {args: []string{"--help"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			out, complaints, code := oooi(t, c.stdin, c.args...)
			gotOut, gotComplaints, gotCode := oooiProcess(t, c.stdin, c.args...)
			g.Expect([]any{gotOut, gotComplaints, gotCode}).To(Equal([]any{out, complaints, code}))
			g.Expect(gotCode).To(Equal(c.code), gotComplaints)
		})
	}
}

// TestPlugin: under the name of a plugin, kubectl runs it, and help has the name that users type.
func TestPlugin(t *testing.T) {
	g := NewWithT(t)
	path, env := programs.Self(t)
	plugin := filepath.Join(t.TempDir(), "kubectl-oooi")
	g.Expect(os.Symlink(path, plugin)).To(Succeed())
	c := exec.CommandContext(t.Context(), plugin, "status", "--help")
	c.Env = env
	said, err := c.Output()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(said)).To(ContainSubstring("\n  kubectl oooi status [NAME] [flags]\n"))
	help, _, _ := oooi(t, "", "status", "--help")
	g.Expect(help).To(ContainSubstring("\n  oooi status [NAME] [flags]\n"))
}

// TestEntrypointsAreHidden: help and completion have what users run, and not what containers run. Both still run it.
func TestEntrypointsAreHidden(t *testing.T) {
	g := NewWithT(t)
	help, _, _ := oooi(t, "", "--help")
	names, _, _ := oooi(t, "", "__complete", "")
	for _, c := range []string{"manager", "admission"} {
		g.Expect(help).NotTo(MatchRegexp(`(?m)^  `+c+` `), help)
		g.Expect(names).NotTo(MatchRegexp(`(?m)^`+c+`\b`), names)
		text, _, code := oooi(t, "", c, "--help")
		g.Expect(code).To(BeZero())
		g.Expect(text).To(ContainSubstring("oooi " + c))
	}
	for _, c := range []string{"check", "lint", "map", "must-gather", "plan", "status"} {
		g.Expect(help).To(MatchRegexp(`(?m)^  `+c+` `), help)
	}
}

// TestFormats: each command that has JSON has YAML, too, and refuses other formats.
func TestFormats(t *testing.T) {
	for _, c := range subcommands() {
		if c.Flags().Lookup("output") == nil || c.Name() == "map" {
			continue
		}
		g := NewWithT(t)
		g.Expect(c.Flags().Set("output", "yaml")).To(Succeed(), c.Name())
		_, faults, code := oooi(t, "", c.Name(), "-o", "wide")
		g.Expect(code).To(Equal(1), c.Name())
		g.Expect(faults).To(ContainSubstring("want text, json or yaml"), c.Name())
	}
}

// TestHelpFits: help has at most 80 columns, but for words that cannot be broken.
func TestHelpFits(t *testing.T) {
	for _, c := range append(subcommands(), nil) {
		args := []string{"--help"}
		if c != nil {
			for line := range strings.Lines(c.Example) {
				NewWithT(t).Expect(len(line)).To(BeNumerically("<=", 80), "it is copied, so it must not be wrapped: %s", line)
			}
			args = append([]string{c.Name()}, args...)
		}
		help, _, _ := oooi(t, "", args...)
		for line := range strings.Lines(help) {
			NewWithT(t).Expect(len(strings.TrimSpace(line))).To(BeNumerically("<=", 80), line)
		}
	}
}
