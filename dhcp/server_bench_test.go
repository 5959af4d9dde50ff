// This file measures what a renewal costs the whole server, with its sockets and the kernel.

package dhcp_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// BenchmarkServer measures the CPU time of the process without that of the thread which plays the clients. At most
// so many renewals wait for their reply at a time.
func BenchmarkServer(b *testing.B) {
	for _, waiting := range []int{1, 16} {
		b.Run(fmt.Sprint("renewals=", waiting), func(b *testing.B) { benchmarkServer(b, waiting) })
	}
}

func benchmarkServer(b *testing.B, waiting int) {
	const clients = 100
	memory := &leases.Memory{}
	var requests [][]byte
	for i := range clients {
		mac, host := fmt.Sprintf("02:00:00:00:09:%02x", i), fmt.Sprint(20+i)
		l := network.Lease{Address: at(host), MAC: mac, Expires: time.Now().Add(24 * time.Hour)}
		if err := memory.Replace(b.Context(), network.Lease{}, l); err != nil {
			b.Fatal(err)
		}
		requests = append(requests, message(request, mac, parameters(rhcos...), has(host)).ToBytes())
	}
	s := serveFrom(b, blue(), memory, func(x *dhcp.Server) { x.Log = slog.New(slog.DiscardHandler); x.VMs = reply.NoVMs{} })
	addresses := []string{"192.168.100.250/24"}
	for i := range clients {
		addresses = append(addresses, fmt.Sprintf("192.168.100.%d/24", 20+i))
	}
	conn, err := s.station(addresses...).conn.File()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fd := int(conn.Fd())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5}); err != nil {
		b.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	to := &unix.SockaddrInet4{Port: 67, Addr: netip.MustParseAddr(us).As4()}
	buffer := make([]byte, 2000)
	asked, answered := 0, 0
	round := func(n int) {
		for last := answered + n; answered < last; answered++ {
			for ; asked < last && asked-answered < waiting; asked++ {
				if err := unix.Sendto(fd, requests[asked%clients], 0, to); err != nil {
					b.Fatal(err)
				}
			}
			size, _, err := unix.Recvfrom(fd, buffer, 0)
			for errors.Is(err, unix.EINTR) {
				size, _, err = unix.Recvfrom(fd, buffer, 0)
			}
			if err != nil {
				b.Fatalf("reply %d: %v", answered, err)
			}
			if answered%1000 == 0 {
				if m, err := dhcpv4.FromBytes(buffer[:size]); err != nil || m.MessageType() != ack {
					b.Fatal("no ACK: ", err, m)
				}
			}
		}
	}
	round(10 * clients)
	cost := func() time.Duration { return used(b, unix.RUSAGE_SELF) - used(b, unix.RUSAGE_THREAD) }
	before := cost()
	b.ResetTimer()
	round(b.N)
	b.ReportMetric(float64(cost()-before)/float64(b.N)/1000, "cpu-us/op")
}

// used is the CPU time of the process or the thread.
func used(b *testing.B, who int) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
