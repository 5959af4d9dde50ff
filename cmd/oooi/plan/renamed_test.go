package plan

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestPlanOfRenamedFiles: files of a cluster with other names have the same plan as files with KubeVirt's own names.
func TestPlanOfRenamedFiles(t *testing.T) {
	g := NewWithT(t)
	const vm = `---
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {namespace: clusters-blue, name: blue-1, resourceVersion: "7", labels: {kubevirt.io/domain: blue-1}}
spec:
  networks: [{name: iface1, multus: {networkName: clusters/vlan100}}]
status:
  interfaces: [{name: iface1, mac: "02:00:00:00:01:01", ipAddress: 192.168.100.4, ipAddresses: [192.168.100.4]}]
`
	story, err := os.ReadFile(objects(t, "lb-ip"))
	g.Expect(err).NotTo(HaveOccurred())
	own := string(story) + vm
	theirs := strings.NewReplacer("kubevirt.io/v1", "internal.virtualization.example/v1", "kind: VirtualMachineInstance", "kind: InternalVirtualizationVirtualMachineInstance").Replace(own)
	want, errs, code := oooiPlan(t, own, "-f", "-")
	g.Expect(want).To(ContainSubstring("blue-1"), errs)
	without, _, _ := oooiPlan(t, theirs, "-f", "-")
	g.Expect(without).NotTo(Equal(want), "nothing is renamed without the flag")
	got, errs, gotCode := oooiPlan(t, theirs, "-f", "-", "--api-rules", "../../../config/api-rules/rules.yaml")
	g.Expect(errs).To(BeEmpty())
	g.Expect(got).To(Equal(want))
	g.Expect(gotCode).To(Equal(code))
}
