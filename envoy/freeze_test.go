package envoy

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/programs"
)

// TestEnvoyIsReadyWhileItsWorkersHang: the admin interface runs in a thread of its own, so it does not show whether Envoy carries
// connections.
func TestEnvoyIsReadyWhileItsWorkersHang(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	thaw := programs.Freeze(t, w.envoy.Process.Pid, programs.EnvoyWorker(0), programs.EnvoyWorker(1))
	g.Expect(w.admin.Serves(t.Context(), []string{onVLAN + ":6443"})).To(Succeed())
	answered := make(chan error, 1)
	go func() {
		_, err := w.openssl(t, w.machine, onVLAN+":6443", "")
		answered <- err
	}()
	g.Eventually(func() string { return w.machine.Run(t, "ss", "-Hnt", "state", "established") }, patient).Should(ContainSubstring(":6443"), "the kernel has its connection")
	g.Consistently(answered, "300ms").ShouldNot(Receive(), "no worker accepts it")
	thaw()
	g.Eventually(answered, patient).Should(Receive(Succeed()))
}
