package kube_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/kube"
)

func TestDefaultDevice(t *testing.T) {
	g := NewWithT(t)
	podinfo, root := t.TempDir(), t.TempDir()
	g.Expect(os.MkdirAll(filepath.Join(root, "proc/net"), 0o755)).To(Succeed())
	route := "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
	table := func(lines string) {
		g.Expect(os.WriteFile(filepath.Join(root, "proc/net/route"), []byte(route+lines), 0o600)).To(Succeed())
	}
	table("net1\t0064A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n")
	_, err := kube.Default(root, podinfo)
	g.Expect(err).To(MatchError(ContainSubstring("no default route")))
	table("net1\t0064A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\neth0\t00000000\t0100800A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n")
	g.Expect(kube.Default(root, podinfo)).To(Equal("eth0"), "the annotation is not there yet")
	status := `k8s.v1.cni.cncf.io/network-status="[{\n    \"name\": \"ovn-kubernetes\",\n    \"interface\": \"ovn0\",\n    \"default\": true\n},{\n    \"name\": \"clusters/vlan100\",\n    \"interface\": \"net1\"\n}]"` + "\n" + `other="x"` + "\n"
	g.Expect(os.WriteFile(filepath.Join(podinfo, "annotations"), []byte(status), 0o600)).To(Succeed())
	g.Expect(kube.Default(root, podinfo)).To(Equal("ovn0"))
}
