package containers

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// TestAContainerThatWasTakenOver tries to replace what the other containers of its edge believe,
// and to read the token. Real mounts decide.
func TestAContainerThatWasTakenOver(t *testing.T) {
	netns.Require(t, "mount")
	pod := newPod(t)
	const attack = ` && cd ` + wire.RunDir + ` && for d in dhcp dns proxy envoy failover xds; do
if rm -f $d/$d.sock 2>/dev/null && ln -s /etc/passwd $d/$d.sock 2>/dev/null; then echo $d; rm $d/$d.sock; fi; done; cat ` + wire.TokenDir + `/token 2>/dev/null || :`
	for program, gets := range map[string]string{
		"dhcp":        "dhcp secret",
		"dns":         "dns",
		"proxy":       "proxy xds secret",
		wire.Envoy:    "envoy",
		wire.Failover: "failover",
	} {
		t.Run(program, func(t *testing.T) {
			out, err := isolated(t.Context(), pod.Mounts(program)+attack)
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), out)
			NewWithT(t).Expect(strings.Join(strings.Fields(out), " ")).To(Equal(gets))
		})
	}
}

// TestSocketsOfOthers: a container that mounts a directory read-only connects to the socket in it.
func TestSocketsOfOthers(t *testing.T) {
	netns.Require(t, "mount")
	g := NewWithT(t)
	pod := newPod(t)
	l, err := net.Listen("unix", resources.NewDirs(wire.EnvoyDirs(pod.Dir)).XDS())
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = l.Close() }()
	accepted := make(chan error, 1)
	go func() { _, err := l.Accept(); accepted <- err }()
	const dial = ` && python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("` + wire.RunDir + `/xds/xds.sock")'`
	out, err := isolated(t.Context(), pod.Mounts(wire.Envoy)+dial)
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Eventually(accepted, patience.Limit).Should(Receive(BeNil()))
}

// newPod is a pod with all services, and a token.
func newPod(t *testing.T) Pod {
	t.Helper()
	g := NewWithT(t)
	dir, err := os.MkdirTemp("", "oooi-run-") // A test's own directory has too long a path for a socket.
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := Pod{Dir: dir, Services: network.AllServices(), Secrets: t.TempDir()}
	g.Expect(os.WriteFile(filepath.Join(p.Secrets, "token"), []byte("secret"), 0o600)).To(Succeed())
	for _, name := range []string{"dhcp", "dns", "ntp", "proxy", wire.Envoy, wire.Failover, wire.XDS} {
		g.Expect(os.Mkdir(wire.Dir(dir, name), 0o755)).To(Succeed())
	}
	return p
}

// isolated runs a script in a mount namespace of its own.
func isolated(ctx context.Context, script string) (string, error) {
	c := exec.CommandContext(ctx, "sh", "-c", "mount --make-rprivate / && "+script)
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := c.CombinedOutput()
	return string(out), err
}
