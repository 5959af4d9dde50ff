// This file finds open ports, from the network namespace of a VM.

package e2e

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	ntp "github.com/facebook/time/ntp/protocol"
	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/lan"
)

// A Scan finds open ports from the network namespace at path NetNS.
type Scan struct {
	NetNS string
	// Patience is how long to wait for an answer of a port.
	Patience time.Duration
	// Expected are ports that must answer. The Scan waits await.Patience for them.
	Expected []uint16
	// Parallel is the number of ports that are tried at the same time, 1 or more.
	Parallel int
}

// TCP returns those of ports that accept a connection on address, sorted.
func (s Scan) TCP(ctx context.Context, address netip.Addr, ports []uint16) ([]uint16, error) {
	return s.ask(ports, func(port uint16) bool {
		dialer := net.Dialer{Timeout: s.patience(port)}
		conn, err := dialer.DialContext(ctx, "tcp4", netip.AddrPortFrom(address, port).String())
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	})
}

// UDP returns those of ports that answer a datagram on address, sorted. It sends a DNS request and an NTP request to each port.
func (s Scan) UDP(ctx context.Context, address netip.Addr, ports []uint16) ([]uint16, error) {
	name, err := new(dns.Msg).SetQuestion("scan.invalid.", dns.TypeA).Pack()
	if err != nil {
		return nil, err
	}
	clock, err := (&ntp.Packet{Settings: 4<<3 | 3, TxTimeSec: 1}).Bytes() // version 4, from a client
	if err != nil {
		return nil, err
	}
	return s.ask(ports, func(port uint16) bool {
		conn, err := new(net.Dialer).DialContext(ctx, "udp4", netip.AddrPortFrom(address, port).String())
		if err != nil {
			return false
		}
		defer conn.Close()
		err = os.ErrDeadlineExceeded
		for end := time.Now().Add(s.patience(port)); errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(end); { // again: a datagram may be lost
			_, err = conn.Write(name)
			if err == nil {
				_, err = conn.Write(clock)
			}
			if err == nil {
				_ = conn.SetReadDeadline(time.Now().Add(s.Patience))
				_, err = conn.Read(make([]byte, 512))
			}
		}
		return err == nil // An ICMP error, port unreachable, is an error of the socket.
	})
}

// patience returns how long to wait for an answer of a port.
func (s Scan) patience(port uint16) time.Duration {
	if slices.Contains(s.Expected, port) {
		return await.Patience
	}
	return s.Patience
}

// ask returns those of ports for which open returns true. It calls open on threads in the namespace. A socket is in the namespace of
// the thread that creates it, so each goroutine stays on its thread.
func (s Scan) ask(ports []uint16, open func(uint16) bool) ([]uint16, error) {
	next := make(chan uint16)
	go func() {
		defer close(next)
		for _, p := range ports {
			next <- p
		}
	}()
	var (
		found  []uint16
		failed error
		lock   sync.Mutex
		all    sync.WaitGroup
	)
	for range max(s.Parallel, 1) {
		all.Go(func() {
			err := lan.InNetNS(s.NetNS, func() error {
				for port := range next {
					if open(port) {
						lock.Lock()
						found = append(found, port)
						lock.Unlock()
					}
				}
				return nil
			})
			lock.Lock()
			failed = errors.Join(failed, err)
			lock.Unlock()
		})
	}
	all.Wait()
	for range next { // No goroutine could enter the namespace.
	}
	slices.Sort(found)
	return found, failed
}

// Every returns all ports.
func Every() []uint16 {
	ports := make([]uint16, 0, 65535)
	for p := 1; p <= 65535; p++ {
		ports = append(ports, uint16(p))
	}
	return ports
}

// Some returns a selection of ports: those up to 10300, node ports, and every 16th of the others.
func Some() []uint16 {
	return slices.DeleteFunc(Every(), func(p uint16) bool { return p > 10300 && (p < 30000 || p > 32767) && p%16 != 0 })
}
