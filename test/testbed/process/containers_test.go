// Only the processes of the one pod or container are found.

package process

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestInCgroup(t *testing.T) {
	const text = "12:pids:/oooi-tb.node2/kubepods/burstable/pod0a1b-2c3d/4e5f6a\n0::/oooi-tb.node2/kubepods/burstable/pod0a1b-2c3d/4e5f6a\n"
	for _, tc := range []struct {
		id   string
		want bool
	}{
		{"4e5f6a", true},
		{"0a1b-2c3d", true},
		{"4e5f", false},
		{"0a1b", false},
		{"", false},
		{"burst", false},
	} {
		NewWithT(t).Expect(inCgroup(text, tc.id)).To(Equal(tc.want), tc.id)
	}
	NewWithT(t).Expect(ContainerProcesses("containerd://" + "not-there")).To(BeEmpty())
	NewWithT(t).Expect(KillContainer("not-there")).NotTo(Succeed())
}
