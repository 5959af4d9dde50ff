package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/programs"
)

// BenchmarkNTP is the CPU time of an answer to the server, system calls included: of
// `oooi-edge ntp`, and of chronyd.
func BenchmarkNTP(b *testing.B) {
	self, env := programs.Self(b)
	chronyd := programs.RequireUnpacked(b, "chrony", "usr/sbin/chronyd")
	for name, start := range map[string]func(at netip.AddrPort) *exec.Cmd{
		"oooi-edge": func(at netip.AddrPort) *exec.Cmd {
			c := exec.CommandContext(b.Context(), self, "ntp", "--plan", loopbackPlan(b), "--interface", "lo", "--listen", at.String())
			c.Env = env
			return c
		},
		"chronyd": func(at netip.AddrPort) *exec.Cmd {
			return exec.CommandContext(b.Context(), chronyd, "-u", "root", "-d", "-x", "-f", "/dev/null", "local stratum 8", "allow 127.0.0.0/8",
				"bindaddress "+at.Addr().String(), "port "+strconv.Itoa(int(at.Port())), "cmdport 0", "bindcmdaddress /", "pidfile "+filepath.Join(b.TempDir(), "pid"))
		},
	} {
		b.Run(name, func(b *testing.B) {
			at := netip.MustParseAddrPort("127.0.0.3:12300")
			c := start(at)
			var said programs.Output
			c.Stdout, c.Stderr = &said, &said
			if err := c.Start(); err != nil {
				b.Fatal(err)
			}
			defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
			clients := askers(b, at)
			deadline := time.Now().Add(20 * time.Second)
			for clients[0].ask() != nil {
				if time.Now().After(deadline) {
					b.Fatalf("no answer: %s", &said)
				}
			}
			before, asked := cpuTime(b, c.Process.Pid), 0
			for b.Loop() {
				if err := clients[asked%len(clients)].ask(); err != nil {
					b.Fatal(err)
				}
				asked++
			}
			b.ReportMetric(float64((cpuTime(b, c.Process.Pid)-before).Nanoseconds())/float64(b.N), "server-cpu-ns/op")
		})
	}
}

func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	d, err := programs.CPUTime(pid)
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// loopbackPlan is a plan whose clients have loopback addresses.
func loopbackPlan(b *testing.B) string {
	b.Helper()
	file := filepath.Join(b.TempDir(), "plan.json")
	p := network.Plan{Networks: []network.Network{{
		Name: "clusters.vlan100", Services: []network.Service{network.ServiceNTP}, CIDR: netip.MustParsePrefix("127.0.0.0/8"),
		NextHopVIP: netip.MustParseAddr("127.0.0.2"), ServiceVIP: netip.MustParseAddr("127.0.0.3"),
		Edges: []network.Edge{{Number: 1, Address: netip.MustParseAddr("127.0.0.4")}},
	}}}
	if err := os.WriteFile(file, p.JSON(), 0o600); err != nil {
		b.Fatal(err)
	}
	return file
}

// An asker is one client.
type asker struct{ conn net.Conn }

// askers are so many that none reaches a limit.
func askers(b *testing.B, at netip.AddrPort) []asker {
	b.Helper()
	var out []asker
	from := netip.MustParseAddr("127.1.0.0")
	for range 3000 {
		from = from.Next()
		d := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
		c, err := d.DialContext(context.Background(), "udp4", at.String())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
		out = append(out, asker{c})
	}
	return out
}

// timeQuestion is that of a client of NTP version 4.
func timeQuestion() []byte {
	question := make([]byte, 48)
	question[0] = 4<<3 | 3
	return question
}

// ask returns nil if the server answers with a time.
func (a asker) ask() error {
	answer := make([]byte, 100)
	// A bench counts what is lost.
	if err := a.conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := a.conn.Write(timeQuestion()); err != nil {
		return err
	}
	if n, err := a.conn.Read(answer); err != nil || n != 48 || answer[1] == 0 {
		return errors.Join(err, errors.New("no time"))
	}
	return nil
}
