// This file runs the commands of docs/first-cluster.md, docs/publish.md and docs/ingress.md with the real command-line tools, and
// shows that `oooi plan` explains what they create. It needs no cluster: applying is recorded.

package e2e

import (
	"fmt"
	"maps"
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

// TestDocumentedCommandLines: each way to publish creates a cluster that needs no change. The plan says what it waits for. The pages have
// the whole command once: elsewhere, "..." stands for its flags.
func TestDocumentedCommandLines(t *testing.T) {
	if testing.Short() {
		t.Skip("builds HyperShift's command lines")
	}
	g := NewWithT(t)
	first, publish, ingress := sectionsOf(document(t, "first-cluster.md")), sectionsOf(document(t, "publish.md")), sectionsOf(document(t, "ingress.md"))
	whole := commandsOf(first["Create the cluster"])
	g.Expect(whole).To(HaveLen(1))
	shared := map[string]string{"pull-secret.json": `{"auths": {}}`}
	maps.Copy(shared, filesOf(first["Describe the network"]))
	g.Expect(shared).To(HaveKey("nad.yaml"))
	named := filesOf(publish["A load balancer with a name"])
	routed := map[string]string{
		"kustomization.yaml": named["kustomization.yaml"],
		"patch.yaml":         firstService.ReplaceAllLiteralString(named["patch.yaml"], blockOf(t, publish["Routes"], "  - service: APIServer\n")),
	}
	typed := map[string]string{"kustomization.yaml": named["kustomization.yaml"]}
	maps.Copy(typed, filesOf(ingress["LoadBalancerService"]))
	both, console := []string{"hypershift", "hcp"}, "so the console needs no action"
	tools := toolsFor(t)
	for _, c := range []struct {
		name     string
		files    map[string]string
		commands []string
		tools    []string
		says     []string
	}{
		{"load balancer", nil, whole, both, []string{console}},
		{"node ports", nil, commandsOf(publish["Node ports"]), []string{"hypershift"}, []string{console}},
		{"load balancer with a name", named, commandsOf(publish["A load balancer with a name"]), both, []string{"API server    NOT YET. At api.blue.example.com\n", console}},
		{"routes", routed, commandsOf(publish["A load balancer with a name"]), both, []string{"API server    NOT YET. At api.blue.example.com:443\n", console}},
		{"look", nil, commandsOf(publish["Look before you create"]), both, []string{console}},
		{"ingress", typed, commandsOf(ingress["LoadBalancerService"]), both, []string{"Edges then forward ports 443 and 80 to its node ports."}},
	} {
		g.Expect(c.commands).To(HaveLen(1), c.name)
		for _, tool := range c.tools {
			t.Run(c.name+" "+tool, func(t *testing.T) {
				g := NewWithT(t)
				files := maps.Clone(shared)
				maps.Copy(files, c.files)
				flags := strings.TrimPrefix(strings.TrimSpace(whole[0]), "hypershift create cluster kubevirt ")
				command := strings.Replace(strings.Replace(c.commands[0], " ... ", " "+flags+" ", 1), "hypershift", tool, 1)
				text := tools.run(t, files, command)
				words := []string{"Network default/vlan100 (bridge, VLAN 100)", "192.168.100.10-192.168.100.253", "clusters/blue: not created yet", unpublished + ", *.apps"}
				for _, word := range append(words, c.says...) {
					g.Expect(text).To(ContainSubstring(word))
				}
				g.Expect(text).NotTo(MatchRegexp(`(?m)^  Error `), "what the documentation creates needs no change")
				g.Expect(text).NotTo(ContainSubstring("AppsUnreachable"), "nor an object of the user")
			})
		}
	}
}

// TestTutorialCommands: each command of docs/first-cluster.md exists, with its flags.
func TestTutorialCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("builds HyperShift's command lines")
	}
	tools := toolsFor(t)
	for _, tool := range []string{"hypershift", "hcp"} {
		ran := 0
		for _, b := range block.FindAllString(document(t, "first-cluster.md"), -1) {
			if command := strings.ReplaceAll(unindented(b), "hypershift ", tool+" "); tutorial.MatchString(command) {
				ran++
				out, err := tools.bash(t, t.TempDir(), "help", command)
				NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s\n%s", command, out)
			}
		}
		NewWithT(t).Expect(ran).To(BeNumerically(">=", 8))
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
	// firstService is the entry of spec.services that the ways to publish have differently.
	firstService = regexp.MustCompile(`(?m)^  - service: APIServer\n.*\n`)
	tutorial     = regexp.MustCompile("^(?:hypershift|hcp|kubectl|oooi) ")
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

// documentedTools are the programs that the pages use. Without a cluster, those in the directory "record" write what they would create to
// the file created.yaml: hcp and hypershift render it, and kubectl builds it. Those in the directory "help" read their arguments only.
type documentedTools struct{ dir string }

func toolsFor(t *testing.T) documentedTools {
	t.Helper()
	g := NewWithT(t)
	programs, err := build.Programs(t.Context(), progress.New(os.Stderr), "hcp", "hypershift", "kubelite")
	g.Expect(err).NotTo(HaveOccurred())
	tools := documentedTools{dir: t.TempDir()}
	for _, dir := range []string{"real", "record", "help"} {
		g.Expect(os.Mkdir(filepath.Join(tools.dir, dir), 0o755)).To(Succeed())
	}
	kubectl := filepath.Join(tools.dir, "real", "kubectl")
	g.Expect(os.Symlink(programs["kubelite"], kubectl)).To(Succeed())
	script := func(name, text string) {
		g.Expect(os.WriteFile(filepath.Join(tools.dir, name), []byte("#!/bin/bash\nset -eu\n"+text), 0o755)).To(Succeed())
	}
	for _, name := range []string{"hcp", "hypershift"} {
		script("record/"+name, fmt.Sprintf(`case " $* " in *" --render "*) exec %[1]s "$@";; esac; exec %[1]s "$@" --render >> created.yaml`, programs[name]))
	}
	script("record/kubectl", fmt.Sprintf(`[ "$*" = "apply -k ." ]; exec %s kustomize . >> created.yaml`, kubectl))
	g.Expect(os.Symlink(program(t), filepath.Join(tools.dir, "record", "oooi"))).To(Succeed())
	for name, path := range map[string]string{"hcp": programs["hcp"], "hypershift": programs["hypershift"], "kubectl": kubectl, "oooi": program(t)} {
		script("help/"+name, fmt.Sprintf(`exec %s "$@" --help`, path))
	}
	return tools
}

// bash runs a script in a directory, with the programs of one kind.
func (d documentedTools) bash(t *testing.T, dir, kind, script string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", script)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + filepath.Join(d.dir, kind) + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	return string(out), err
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
	text, err := d.bash(t, dir, "record", command)
	if strings.Contains(command, "oooi plan") {
		g.Expect(err).To(MatchError("exit status 3"), "%s", text)
		return text
	}
	g.Expect(err).NotTo(HaveOccurred(), "%s", text)
	text, _ = d.bash(t, dir, "record", "oooi plan -f created.yaml -f nad.yaml")
	return text
}
