package status

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/programs"
)

// withOC is the command of the page, and what the pod runs of it.
var withOC = regexp.MustCompile(`(?m)^    oc adm must-gather -- '(oc image extract ghcr\.io/cldmnky/oooi:v[0-9.]+ --path /usr/bin/oooi:/tmp --confirm && [^'\n]+)'$`)

// extracted is what oc does for it in the pod. It makes no extracted file executable.
const extracted = `#!/bin/bash
set -e
[ "$1 $2 $4 $6" = "image extract --path --confirm" ]
install -m 0640 "$PROGRAM" "${5#*:}/$(basename "${5%:*}")"
`

// mustGatherWithOC: the pods of oc adm must-gather collect a report with the documented command. A shell runs it in the two ways of oc: up to
// OpenShift 4.19, and since 4.20 (its pkg/cli/admin/mustgather/mustgather.go). Next to it runs what watches the disk. The namespace of the pod has no HostedCluster.
func mustGatherWithOC(t *testing.T, server *apiserver.Server) {
	page, err := os.ReadFile("../../../docs/troubleshooting.md")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	documented := withOC.FindStringSubmatch(string(page))
	NewWithT(t).Expect(documented).NotTo(BeNil())
	config, err := clientcmd.Load(server.Env.KubeConfig)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	config.Contexts[config.CurrentContext].Namespace = "openshift-must-gather-x"
	for name, around := range map[string][2]string{"4.19": {"true & ", "; sync"}, "4.20": {"true & setsid -w bash <<-MUSTGATHER_EOF\n", "\nMUSTGATHER_EOF\nsync"}} {
		t.Run(name, func(t *testing.T) {
			g, dir := NewWithT(t), t.TempDir()
			for _, d := range []string{"bin", "tmp", "must-gather"} {
				g.Expect(os.Mkdir(filepath.Join(dir, d), 0o755)).To(Succeed())
			}
			g.Expect(os.WriteFile(filepath.Join(dir, "bin", "oc"), []byte(extracted), 0o755)).To(Succeed())
			g.Expect(clientcmd.WriteToFile(*config, filepath.Join(dir, "kubeconfig"))).To(Succeed())
			program, env := programs.Self(t)
			run := strings.NewReplacer("/tmp", filepath.Join(dir, "tmp"), "/must-gather/", filepath.Join(dir, "must-gather")+"/").Replace(documented[1])
			pod := exec.CommandContext(t.Context(), "/bin/bash", "-c", around[0]+run+around[1])
			pod.Env = append(env, "PROGRAM="+program, "KUBECONFIG="+filepath.Join(dir, "kubeconfig"), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
			said, err := pod.CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), "%s", said)
			text, faults, _ := oooi(t, "", "status", "-f", filepath.Join(dir, "must-gather", "oooi"))
			g.Expect(text).To(HavePrefix("HostedCluster clusters/blue: "), "%s", said)
			g.Expect(faults).To(BeEmpty())
		})
	}
}
