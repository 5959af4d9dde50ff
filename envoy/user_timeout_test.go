package envoy

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// TestNoPeerHoldsAConnectionWithDataInFlight: sockets of both sides are closed two minutes after the last acknowledgment. By default, the
// kernel closes them after 15 minutes.
func TestNoPeerHoldsAConnectionWithDataInFlight(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	u, err := w.dial(t, onVLAN+":6443", "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(u.works()).To(Succeed())

	process, err := unix.PidfdOpen(w.envoy.Process.Pid, 0)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = unix.Close(process) }()
	dir := fmt.Sprintf("/proc/%d/fd", w.envoy.Process.Pid)
	all, err := os.ReadDir(dir)
	g.Expect(err).NotTo(HaveOccurred())
	limits := map[string]time.Duration{}
	for _, f := range all {
		if to, err := os.Readlink(dir + "/" + f.Name()); err != nil || !strings.HasPrefix(to, "socket:") {
			continue
		}
		n, err := strconv.Atoi(f.Name())
		g.Expect(err).NotTo(HaveOccurred())
		fd, err := unix.PidfdGetfd(process, n, 0)
		g.Expect(err).NotTo(HaveOccurred())
		peer, err := unix.Getpeername(fd)
		if to, ok := peer.(*unix.SockaddrInet4); ok && err == nil {
			ms, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
			g.Expect(err).NotTo(HaveOccurred())
			limits[fmt.Sprint(to.Addr)] = time.Duration(ms) * time.Millisecond
		}
		_ = unix.Close(fd)
	}
	g.Expect(limits).To(Equal(map[string]time.Duration{"[192 168 100 20]": 2 * time.Minute, "[10 128 0 11]": 2 * time.Minute}))
}
