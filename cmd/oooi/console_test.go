package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/apiserver"
)

// copied are the commands of a quick start, which the console copies with a click: in a block, or in a line.
var copied = regexp.MustCompile("(?s)(?:```\n(.*?)\n```|`([^`\n]+)`){{copy}}")

// consoleHasAQuickStart: an API server with the kinds of OpenShift's console takes config/console as users apply it. The quick start has five steps, with
// the commands of README.
func consoleHasAQuickStart(t *testing.T, server *apiserver.Server) {
	g := NewWithT(t)
	kinds := filepath.Join(apiserver.ModuleDir(t, "github.com/openshift/api"), "console", "v1", "zz_generated.crd-manifests")
	server.InstallDefinitions(t, filepath.Join(kinds, "00_consolequickstarts.crd.yaml"), filepath.Join(kinds, "00_consoleclidownloads.crd.yaml"))
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, server.Env.KubeConfig, 0o600)).To(Succeed())
	apply := exec.CommandContext(t.Context(), filepath.Join(server.Env.BinaryAssetsDirectory, "kubectl"), "apply", "--kubeconfig", file, "-k", "../../config/console")
	said, err := apply.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", said)
	g.Expect(string(said)).To(And(ContainSubstring("consoleclidownload.console.openshift.io/oooi created"), ContainSubstring("consolequickstart.console.openshift.io/oooi created")))

	start := &unstructured.Unstructured{}
	start.SetGroupVersionKind(schema.GroupVersionKind{Group: "console.openshift.io", Version: "v1", Kind: "ConsoleQuickStart"})
	g.Expect(server.Admin.Get(t.Context(), client.ObjectKey{Name: "oooi"}, start)).To(Succeed())
	steps, _, err := unstructured.NestedSlice(start.Object, "spec", "tasks")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(steps).To(HaveLen(5))
	readme, err := os.ReadFile("../../README.md")
	g.Expect(err).NotTo(HaveOccurred())
	for _, step := range steps {
		description, _, err := unstructured.NestedString(step.(map[string]any), "description")
		g.Expect(err).NotTo(HaveOccurred())
		commands := copied.FindAllStringSubmatch(description, -1)
		g.Expect(commands).To(HaveLen(1), description)
		block, line := commands[0][1], commands[0][2]
		if block != "" {
			line = "    " + strings.ReplaceAll(block, "\n", "\n    ") + "\n"
		} else {
			line = "`" + line + "`"
		}
		g.Expect(string(readme)).To(ContainSubstring(line))
	}
}
