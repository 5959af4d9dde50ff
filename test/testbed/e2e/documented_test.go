// This file runs the commands of docs/create-cluster.md with the real command-line tools, and
// shows that `oooi plan` explains what they create. It needs no cluster: applying is recorded.

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/progress"
)

// TestDocumentedCommandLines: each section of the page creates a cluster that needs no change. The plan says what it waits for.
func TestDocumentedCommandLines(t *testing.T) {
	if testing.Short() {
		t.Skip("builds HyperShift's command lines")
	}
	g := NewWithT(t)
	sections := sectionsOf(document(t, "create-cluster.md"))
	nad := filesOf(sections["The network"])["nad.yaml"]
	g.Expect(nad).NotTo(BeEmpty())
	tools := toolsFor(t)
	for _, section := range []string{"Load balancer", "Node ports", "Load balancer with a name", "Routes", "Look before you create"} {
		t.Run(section, func(t *testing.T) {
			g := NewWithT(t)
			files, commands := filesOf(sections[section]), commandsOf(sections[section])
			g.Expect(commands).NotTo(BeEmpty())
			files["nad.yaml"], files["pull-secret.json"] = nad, `{"auths": {}}`
			for _, command := range commands {
				text := tools.run(t, files, command)
				for _, word := range []string{"Network default/vlan100 (bridge, VLAN 100)", "192.168.100.10-192.168.100.253", "clusters/blue: not created yet", unpublished + ", *.apps", "so the console needs no action"} {
					g.Expect(text).To(ContainSubstring(word))
				}
				g.Expect(text).NotTo(MatchRegexp(`(?m)^  Error `), "what the documentation creates needs no change")
				g.Expect(text).NotTo(ContainSubstring("AppsUnreachable"), "nor an object of the user")
			}
		})
	}
}

// document is the text of docs/NAME.
func document(t *testing.T, name string) string {
	t.Helper()
	g := NewWithT(t)
	root, err := host.ProjectDir()
	g.Expect(err).NotTo(HaveOccurred())
	page, err := os.ReadFile(filepath.Join(root, "docs", name))
	g.Expect(err).NotTo(HaveOccurred())
	return string(page)
}

// sectionsOf are the parts of a page by their headings of the second level.
func sectionsOf(page string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.Split(page, "\n## ")[1:] {
		title, text, _ := strings.Cut(part, "\n")
		out[title] = text
	}
	return out
}

var (
	block = regexp.MustCompile("(?m)(?:^    .*\n)+")
	saved = regexp.MustCompile("ave [^.\n]*as `([^`]+)`:\n\n((?:    .*\n)+)")
)

// filesOf are the files that a text tells to save.
func filesOf(text string) map[string]string {
	out := map[string]string{}
	for _, m := range saved.FindAllStringSubmatch(text, -1) {
		out[m[1]] = unindented(m[2])
	}
	return out
}

// kubectlLines are the arguments of the commands in the block of docs/NAME that follows a line.
func kubectlLines(t *testing.T, name, line string) [][]string {
	t.Helper()
	g := NewWithT(t)
	_, after, found := strings.Cut(document(t, name), "\n"+line+"\n\n")
	g.Expect(found).To(BeTrue(), "docs/%s has a line %q", name, line)
	var out [][]string
	for command := range strings.Lines(unindented(block.FindString(after))) {
		words := strings.Fields(command)
		g.Expect(words[0]).To(Equal("kubectl"))
		out = append(out, words[1:])
	}
	return out
}

// blockOf is the block of a text that begins with these words.
func blockOf(t *testing.T, text, words string) string {
	t.Helper()
	all := block.FindAllString(text, -1)
	i := slices.IndexFunc(all, func(b string) bool { return strings.HasPrefix(unindented(b), words) })
	NewWithT(t).Expect(i).To(BeNumerically(">=", 0), "a block that begins with %q", words)
	return unindented(all[i])
}

// commandsOf are the blocks of a text that create a cluster.
func commandsOf(text string) []string {
	var out []string
	for _, b := range block.FindAllString(text, -1) {
		if b = unindented(b); strings.Contains(b, "create cluster") {
			out = append(out, b)
		}
	}
	return out
}

func unindented(block string) string {
	return strings.ReplaceAll(strings.TrimPrefix(block, "    "), "\n    ", "\n")
}

// documentedTools are the programs that the page uses. Without a cluster, what they would create is
// written to the file created.yaml: hcp and hypershift render it, and kubectl builds it.
type documentedTools struct{ dir string }

func toolsFor(t *testing.T) documentedTools {
	t.Helper()
	g := NewWithT(t)
	programs, err := build.Programs(t.Context(), progress.New(os.Stderr), "hcp", "hypershift", "kubelite")
	g.Expect(err).NotTo(HaveOccurred())
	tools := documentedTools{dir: t.TempDir()}
	g.Expect(os.Symlink(program(t), filepath.Join(tools.dir, "oooi"))).To(Succeed())
	kubectl := filepath.Join(tools.dir, "real", "kubectl")
	g.Expect(os.Mkdir(filepath.Dir(kubectl), 0o755)).To(Succeed())
	g.Expect(os.Symlink(programs["kubelite"], kubectl)).To(Succeed())
	script := func(name, text string) {
		g.Expect(os.WriteFile(filepath.Join(tools.dir, name), []byte("#!/bin/bash\nset -eu\n"+text), 0o755)).To(Succeed())
	}
	for _, name := range []string{"hcp", "hypershift"} {
		script(name, fmt.Sprintf(`case " $* " in *" --render "*) exec %[1]s "$@";; esac; exec %[1]s "$@" --render >> created.yaml`, programs[name]))
	}
	script("kubectl", fmt.Sprintf(`[ "$*" = "apply -k ." ]; exec %s kustomize . >> created.yaml`, kubectl))
	return tools
}

// run runs a command of the page in a directory with the files, and returns what `oooi plan` says
// about what it created.
func (d documentedTools) run(t *testing.T, files map[string]string, command string) string {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	for name, content := range files {
		g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)).To(Succeed())
	}
	run := func(script string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", "-euc", script)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + d.dir + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	text, err := run(command)
	if strings.Contains(command, "oooi plan") {
		g.Expect(err).To(MatchError("exit status 3"), "%s", text)
		return text
	}
	g.Expect(err).NotTo(HaveOccurred(), "%s", text)
	text, _ = run("oooi plan -f created.yaml -f nad.yaml")
	return text
}
