package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/programs"
)

// TestDocumentedCommands: what the documents tell a reader to type works as they
// say, from the module's root.
func TestDocumentedCommands(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	pages, err := filepath.Glob(filepath.Join("docs", "*.md"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	tried := map[string]bool{}
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, m := range regexp.MustCompile(`(?m)^    bin/oooi ((plan|lint) [^|>\n]*)$`).FindAllStringSubmatch(string(text), -1) {
			tried[m[2]] = true
			t.Run(m[1], func(t *testing.T) {
				g := NewWithT(t)
				_, stderr, code := oooi(t, "", strings.Fields(m[1])...)
				g.Expect(stderr).To(BeEmpty())
				g.Expect(code).To(BeElementOf(0, 2, 3))
			})
		}
	}
	NewWithT(t).Expect(tried).To(And(HaveKey("plan"), HaveKey("lint")))
}

// TestPipeline: the scripts of docs/gitops.md fail only if a file is wrong.
func TestPipeline(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "gitops.md"))
	g.Expect(err).NotTo(HaveOccurred())
	scripts := regexp.MustCompile(`(?m)(?:^    .*\n)*^ +oooi lint .*\n(?:^    .*\n)*`).FindAllString(string(page), -1)
	g.Expect(scripts).To(HaveLen(2))
	path, env := programs.Self(t)
	good := string(golden.Find(t, "lb-ip").Read(t, "objects.yaml"))
	for wrong, text := range map[bool]string{false: good, true: strings.Replace(good, "hostedcluster.densityops.com/network: auto", "hostedcluster.densityops.com/netwrok: auto", 1)} {
		g.Expect(text == good).NotTo(Equal(wrong))
		dir := t.TempDir()
		for _, at := range []string{"bin", "clusters", "fleet/east", "fleet/west"} {
			g.Expect(os.MkdirAll(filepath.Join(dir, at), 0o755)).To(Succeed())
		}
		g.Expect(os.Symlink(path, filepath.Join(dir, "bin", "oooi"))).To(Succeed())
		programs.WriteFile(t, filepath.Join(dir, "clusters"), "blue.yaml", text)
		programs.WriteFile(t, filepath.Join(dir, "fleet", "east"), "blue.yaml", text)
		programs.WriteFile(t, filepath.Join(dir, "fleet", "west"), "blue.yaml", good)
		for _, script := range scripts {
			c := exec.CommandContext(t.Context(), "bash", "-c", script)
			c.Dir, c.Env = dir, append(env, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
			out, err := c.CombinedOutput()
			g.Expect(err != nil).To(Equal(wrong), "%s%s", script, out)
		}
	}
}
