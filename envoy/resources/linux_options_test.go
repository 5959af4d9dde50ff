package resources

import (
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// TestLinuxOptions: the numbers are those of the kernel.
func TestLinuxOptions(t *testing.T) {
	NewWithT(t).Expect([]int{levelSocket, keepAlive, sendBuffer, receiveBuffer, reusePort, bindToDevice, levelTCP, tcpKeepIdle, tcpKeepEach, tcpKeepCount, tcpUserTimeout}).To(Equal([]int{
		unix.SOL_SOCKET, unix.SO_KEEPALIVE, unix.SO_SNDBUF, unix.SO_RCVBUF, unix.SO_REUSEPORT, unix.SO_BINDTODEVICE,
		unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, unix.TCP_KEEPINTVL, unix.TCP_KEEPCNT, unix.TCP_USER_TIMEOUT,
	}))
}
