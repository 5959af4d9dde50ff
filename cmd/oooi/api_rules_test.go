package main

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/hcp/apirewrite"
)

// apiRules are the rules of the kustomize component.
const apiRules = "../../config/api-rules/rules.yaml"

// TestRulesAreCheckedFirst: a file that cannot be used ends each command at once, with the file and the line.
func TestRulesAreCheckedFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	NewWithT(t).Expect(os.WriteFile(file, []byte("version: 1\ngroups:\n- client: kubevirt.io\n  sever: x\n"), 0o600)).To(Succeed())
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("KUBECONFIG", none)
	for _, args := range [][]string{{"manager"}, {"status"}, {"check"}, {"must-gather"}, {"map"}, {"access", "clusters/blue"}, {"plan", "-f", apiRules}, {"lint", "-f", apiRules}, {"status", "-f", "."}} {
		g := NewWithT(t)
		_, errs, code := oooi(t, "", append(args, "--api-rules", file)...)
		g.Expect(code).To(Equal(1), args[0])
		g.Expect(errs).To(And(HavePrefix("oooi: --api-rules: "+file+":4: "), ContainSubstring("sever")), args[0])
		_, errs, code = oooi(t, "", append(args, "--api-rules", none)...)
		g.Expect(code).To(Equal(1), args[0])
		g.Expect(errs).To(And(HavePrefix("oooi: --api-rules: open "+none), HaveSuffix("no such file or directory\n")), args[0])
	}
	t.Setenv(command.EnvAPIRules, file)
	_, errs, code := oooi(t, "", "manager")
	NewWithT(t).Expect(code).To(Equal(1))
	NewWithT(t).Expect(errs).To(HavePrefix("oooi: --api-rules: "+file+":4: "), "an OLM Subscription sets the environment")
}

// TestEdgesGetTheName of VirtualMachineInstances, only if it is another one.
func TestEdgesGetTheName(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile(apiRules)
	g.Expect(err).NotTo(HaveOccurred())
	rules, err := apirewrite.Parse(apiRules, text)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(vmResource(rules)).To(Equal("internalvirtualizationvirtualmachineinstances.internal.virtualization.example"))
	g.Expect(vmResource(nil)).To(BeEmpty())
	other, err := apirewrite.Parse("rules", []byte("version: 1\ngroups:\n- {client: cdi.kubevirt.io, server: cdi.example, kindPrefix: A, resourcePrefix: a, resources: {datavolumes: DataVolume}}\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(vmResource(other)).To(BeEmpty())
}
