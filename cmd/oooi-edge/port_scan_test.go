package main

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// openPorts returns the TCP ports that accept connections at an address, of those from first to last.
func openPorts(t *testing.T, from *netns.Namespace, address string, first, last int) (open []int) {
	t.Helper()
	to := netip.MustParseAddr(address).As4()
	from.Do(t, func() {
		const batch = 1000
		for ; first <= last; first += batch {
			var polls []unix.PollFd
			ports := map[int32]int{}
			for port := first; port <= min(first+batch-1, last); port++ {
				fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
				if err != nil {
					t.Error(err)
					return
				}
				err = unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: to})
				switch {
				case errors.Is(err, unix.EINPROGRESS):
					polls = append(polls, unix.PollFd{Fd: int32(fd), Events: unix.POLLOUT})
					ports[int32(fd)] = port
					continue
				case err == nil:
					open = append(open, port)
				}
				_ = unix.Close(fd)
			}
			for deadline := time.Now().Add(patience.Limit); len(polls) > 0; {
				_, _ = unix.Poll(polls, 1000)
				late := time.Now().After(deadline)
				polls = slices.DeleteFunc(polls, func(p unix.PollFd) bool {
					failed, err := unix.GetsockoptInt(int(p.Fd), unix.SOL_SOCKET, unix.SO_ERROR)
					switch {
					case p.Revents == 0 && !late:
						return false
					case p.Revents == 0:
						t.Errorf("port %d of %s does not answer", ports[p.Fd], address)
					case err == nil && failed == 0:
						open = append(open, ports[p.Fd])
					}
					_ = unix.Close(int(p.Fd))
					return true
				})
			}
			if t.Failed() {
				return
			}
		}
	})
	slices.Sort(open)
	return open
}
