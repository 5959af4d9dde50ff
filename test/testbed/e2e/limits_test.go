// This file measures what one machine that means no good, or knows no better, takes
// from the others. Nothing is asserted but that all is well afterwards.

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/process"
)

func testLimits(t *testing.T, s *stage) {
	t.Run("the next hop is dialled", func(t *testing.T) { testDialled(t, s) })
	t.Run("connections of one machine", func(t *testing.T) { testConnections(t, s) })
}

// testDialled dials the next hop from ever new addresses, at the edge that the worker
// does not send to: its kernel asks for each in the name of the next hop.
func testDialled(t *testing.T, s *stage) {
	g := NewWithT(t)
	s.whole(t)
	pods := s.pods(t)
	s.sendTo(t, pods[0])
	bad := s.plug(t, "dials"+s.hosted.Name, s.worker.VM.VLAN)
	m, stop := s.start(t)
	begin := time.Now()
	heading, moves := pods[0].mac, 0
	for last := 130; last < 190; last++ {
		source := fmt.Sprintf("192.168.100.%d/24", last)
		in := func(argv ...string) error {
			return exec.CommandContext(t.Context(), "nsenter", append([]string{"--net=" + bad.netNS, "--"}, argv...)...).Run()
		}
		g.Expect(in("ip", "address", "add", source, "dev", bad.card)).To(Succeed())
		g.Expect(bad.head(t.Context(), s.network.NextHopVIP, pods[1].mac)).To(Succeed())
		_ = lan.InNetNS(bad.netNS, func() error {
			conn, err := net.DialTimeout("tcp4", net.JoinHostPort(s.network.NextHopVIP.String(), "9"), 500*time.Millisecond) // No answer does no harm.
			if err == nil {
				conn.Close()
			}
			return err // refused
		})
		g.Expect(in("ip", "address", "del", source, "dev", bad.card)).To(Succeed())
		now, err := s.stations[0].heading(t.Context(), s.network.NextHopVIP)
		g.Expect(err).NotTo(HaveOccurred())
		if now != heading {
			heading = now
			moves++
			g.Expect(s.stations[0].head(t.Context(), s.network.NextHopVIP, pods[0].mac)).To(Succeed()) // the worst: it comes back each time
			heading = pods[0].mac
		}
	}
	long := time.Since(begin)
	quiet(t, m, 3*time.Second)
	report := stop()
	t.Logf("the next hop dialled from 60 addresses in %.1fs: the worker moved %d times; %+v", long.Seconds(), moves, report)
}

// testConnections opens connections to the API's port from one machine until no more
// are taken, and asks whether another is still served.
func testConnections(t *testing.T, s *stage) {
	g := NewWithT(t)
	s.whole(t)
	var files unix.Rlimit
	g.Expect(unix.Getrlimit(unix.RLIMIT_NOFILE, &files)).To(Succeed())
	most := min(25_000, int(files.Max)/2-1000) // Envoy, which has as many files here, opens two for each
	files.Cur = files.Max
	g.Expect(unix.Setrlimit(unix.RLIMIT_NOFILE, &files)).To(Succeed())
	pods := s.pods(t)
	s.sendTo(t, pods[0])
	renewing := s.stations[1]
	before, err := pods[0].container("envoy")
	g.Expect(err).NotTo(HaveOccurred())

	held := holdMany(t.Context(), renewing.netNS, s.api, most)
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	_, failed := askAnyone(t.Context(), s.worker.Machine, "https://"+s.api+"/version")
	t.Logf("one machine holds %d connections of %d that it wanted; another that connects now: %v; envoy: %s", len(held), most, failed, memory(before.ContainerID))
	for _, c := range held {
		c.Close()
	}
	g.Eventually(func() error {
		_, err := askAnyone(t.Context(), s.worker.Machine, "https://"+s.api+"/version")
		return err
	}).WithPolling(time.Second).Should(Succeed(), "when they are closed")
	s.whole(t)
	after, err := s.pods(t)[0].container("envoy")
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("it restarted envoy %d times", after.RestartCount-before.RestartCount)
}

// holdMany opens up to so many connections from a network namespace, and gives those
// that are still open.
func holdMany(ctx context.Context, path, address string, most int) []net.Conn {
	var (
		open []net.Conn
		lock sync.Mutex
		all  sync.WaitGroup
		next = make(chan struct{}, most)
	)
	for range most {
		next <- struct{}{}
	}
	close(next)
	for range 32 {
		all.Go(func() {
			_ = lan.InNetNS(path, func() error {
				for range next {
					d := net.Dialer{Timeout: 2 * time.Second} // Until no more are taken.
					conn, err := d.DialContext(ctx, "tcp4", address)
					if err != nil {
						return err // no more are taken
					}
					lock.Lock()
					open = append(open, conn)
					lock.Unlock()
				}
				return nil
			})
		})
	}
	all.Wait()
	var still []net.Conn
	for _, c := range open {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond)) // Nothing comes, unless it ended.
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			still = append(still, c)
			continue
		}
		c.Close()
	}
	return still
}

// memory is what a container's first process has resident.
func memory(id string) string {
	pids := process.ContainerProcesses(id)
	if len(pids) == 0 {
		return "it is gone"
	}
	out, err := exec.Command("ps", "-o", "rss=", "-p", fmt.Sprint(pids[0])).Output()
	if err != nil {
		return err.Error()
	}
	return string(out) + " KiB resident"
}
