package gate

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/envoy/resources"
)

// TestLawsOfConnectionShares: in random histories of connections, no source has more than its share at the ports of the API server, nor at
// the others. No source with less is refused, however rarely the connections are counted.
func TestLawsOfConnectionShares(t *testing.T) {
	listeners := []netip.AddrPort{netip.MustParseAddrPort("192.168.100.3:443"), netip.MustParseAddrPort("192.168.100.3:6443")}
	api := func(c arrival) bool { return c.Listener == listeners[1] }
	source := func(c arrival) string { return c.Client.Addr().String() }
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		apart := seed%2 == 0 // Otherwise all ports have one share.
		s := shares{limits: resources.Limits{Connections: 24, PerSource: 10}, apart: apart}
		api := func(c arrival) bool { return apart && api(c) }
		open, now := map[arrival]bool{}, time.Unix(0, 0)
		most := map[bool]int{true: 5, false: 10}[apart]
		of := func(c arrival) (own, others int) {
			for o := range open {
				if source(o) == source(c) && api(o) == api(c) {
					own++
				}
				if !api(o) {
					others++
				}
			}
			return own, others
		}
		for step := range 300 {
			now = now.Add(time.Duration(r.IntN(60)) * time.Millisecond)
			for c := range open {
				if r.IntN(10) == 0 {
					delete(open, c)
				}
			}
			c := arrival{listeners[r.IntN(2)], netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 168, 100, byte(10 + r.IntN(4))}), uint16(step+1))}
			open[c] = true
			why, count := s.admit(c, holder{source(c), api(c)}, now)
			if count {
				s.reset(now)
				for o := range open {
					s.count(o, holder{source(o), api(o)})
				}
				why, _ = s.admit(c, holder{source(c), api(c)}, now)
			}
			own, others := of(c)
			fits := own <= most && (api(c) || others <= 12)
			history := fmt.Sprintf("seed %d, step %d: %v, %d of its source at such ports, %d to other ports", seed, step, c, own, others)
			switch {
			case why == admitted && !fits:
				t.Fatalf("admitted: %s", history)
			case why != admitted && fits && count:
				t.Fatalf("refused for %s: %s", why, history)
			}
			if why != admitted {
				delete(open, c)
			}
		}
	}
}

// TestConnectionsThatAskAtOnce: of connections that are already open when they are counted, as many as the share are admitted. All others
// are refused.
func TestConnectionsThatAskAtOnce(t *testing.T) {
	g := NewWithT(t)
	s, now := shares{limits: resources.Limits{Connections: 100, PerSource: 20}, apart: true}, time.Unix(0, 0)
	to := netip.MustParseAddrPort("192.168.100.3:6443")
	at := func(port uint16) arrival {
		return arrival{to, netip.AddrPortFrom(netip.MustParseAddr("192.168.100.20"), port)}
	}
	s.reset(now)
	for port := range uint16(30) {
		s.count(at(port), holder{"vm", true})
	}
	carried := 0
	for port := range uint16(30) {
		if why, _ := s.admit(at(port), holder{"vm", true}, now); why == admitted {
			carried++
		}
	}
	g.Expect(carried).To(Equal(10))
	why, _ := s.admit(arrival{to, netip.MustParseAddrPort("192.168.100.21:1")}, holder{"other", true}, now)
	g.Expect(why).To(Equal(admitted), "another source")
}

// TestLawsOfSampledConnections: Envoy follows the percentage 50 ms late, and VMs open up to 1,000 connections a second each. No
// source has more than a tenth above its share, and none that has half of it is refused.
func TestLawsOfSampledConnections(t *testing.T) {
	limits, to := resources.NewLimits(2560<<20, 0), netip.MustParseAddrPort("192.168.100.3:443")
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		s, now := shares{limits: limits, apart: true}, time.Unix(0, 0)
		share := int(s.share())
		var open [3][]arrival
		var percent [50]uint32 // of each of the last milliseconds
		questions, connections := 0, 0
		var targets [3]int
		for ms := range 30_000 {
			now = now.Add(time.Millisecond)
			if ms%5_000 == 0 {
				targets = [3]int{r.IntN(20), r.IntN(150), []int{100, 3_000}[(ms/5_000)%2]}
			}
			asked := percent[ms%len(percent)]
			percent[ms%len(percent)] = s.percent()
			for source := range open {
				if len(open[source]) > targets[source] || len(open[source]) > 0 && r.IntN(100) == 0 {
					i := r.IntN(len(open[source]))
					open[source] = append(open[source][:i], open[source][i+1:]...)
				}
				if len(open[source]) >= targets[source] {
					continue
				}
				connections++
				c := arrival{to, netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 168, 100, byte(10 + source)}), uint16(connections))}
				open[source] = append(open[source], c)
				if ms >= len(percent) && uint32(r.IntN(100)) >= asked {
					continue
				}
				questions++
				h := holder{string(rune('a' + source)), false}
				why, count := s.admit(c, h, now)
				if count {
					s.reset(now)
					for i, all := range open {
						for _, o := range all {
							s.count(o, holder{string(rune('a' + i)), false})
						}
					}
					s.settle(now)
					why, _ = s.admit(c, h, now)
				}
				if own := len(open[source]); why != admitted {
					if own <= share/2 {
						t.Fatalf("seed %d, %d ms: refused with %d", seed, ms, own)
					}
					open[source] = open[source][:own-1]
				}
				if own := len(open[source]); own > share*11/10 {
					t.Fatalf("seed %d, %d ms: %d are open", seed, ms, own)
				}
			}
		}
		t.Logf("%d questions for %d connections", questions, connections)
	}
}

// TestCalmSourcesAreSampled: after a burst, Envoy asks about every connection for a while, and then about a sample again.
func TestCalmSourcesAreSampled(t *testing.T) {
	g := NewWithT(t)
	s, now := shares{limits: resources.NewLimits(2560<<20, 0), apart: true}, time.Unix(0, 0)
	to := netip.MustParseAddrPort("192.168.100.3:443")
	arrive := func(port int) verdict {
		c := arrival{to, netip.AddrPortFrom(netip.MustParseAddr("192.168.100.20"), uint16(port))}
		why, count := s.admit(c, holder{"vm", false}, now)
		if count { // All others have ended.
			s.reset(now)
			s.settle(now)
			why, _ = s.admit(c, holder{"vm", false}, now)
		}
		return why
	}
	arrive(1)
	g.Expect(s.percent()).To(BeNumerically("<", 20))
	for port := range 160 { // Half of a share and more.
		g.Expect(arrive(port)).To(Equal(admitted))
	}
	g.Expect(s.percent()).To(BeNumerically("==", 100))
	now = now.Add(watchedFor - time.Second)
	arrive(1)
	g.Expect(s.percent()).To(BeNumerically("==", 100))
	now = now.Add(2 * time.Second)
	arrive(2)
	g.Expect(s.percent()).To(BeNumerically("<", 20))
}

// TestConnectionsThatCannotBeCounted: connections that cannot be counted are admitted, however many there are.
func TestConnectionsThatCannotBeCounted(t *testing.T) {
	g := NewWithT(t)
	var said bytes.Buffer
	gate := &Gate{
		Limits: resources.Limits{Connections: 100, PerSource: 3}, Log: slog.New(slog.NewTextHandler(&said, nil)), SetAsked: func(uint32) {},
		MACOf: func(netip.Addr) string { return "" }, Each: func(func(local, remote netip.AddrPort)) error { return errors.New("no inet_diag") },
	}
	gate.Serve(blue())
	gate.shares.limits = gate.Limits
	g.Expect(gate.Counts()).To(BeTrue(), "nothing failed yet")
	to, now := netip.MustParseAddrPort(onVLAN+":6443"), time.Now()
	for i := range 1_000 {
		c := arrival{to, netip.AddrPortFrom(netip.MustParseAddr("192.168.100.20"), uint16(1+i))}
		g.Expect(gate.admit(c, now.Add(time.Duration(i)*time.Millisecond))).To(Equal(admitted), "connection %d", i)
	}
	g.Expect(gate.Counts()).To(BeFalse())
	g.Expect(strings.Count(said.String(), "no inet_diag")).To(Equal(1))
}
