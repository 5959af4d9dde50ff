package envoy

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// other is a name and a listener that come and go, with one backend or another.
var other = network.Backend{Name: "other:443", Service: "other", Port: 443}

const (
	otherName = "other.example.com"
	otherPort = 8132
	logsPort  = 10250
	logsPod   = "10.128.0.14:10250"
)

// logs answers a client that has ended its side.
var logs = network.Backend{Name: "logs:10250", Service: "logs", Port: logsPort}

// A setup is what Envoy shall have, except for what long connections use.
type setup struct {
	name, listener, moved bool
	endpoints             int
	spoil                 func(resources.Resources)
}

// resources of a setup.
func (s setup) resources(w *world) resources.Resources {
	n, behind := blue(), pods()
	n.Backends = append(n.Backends, logs, other)
	n.Listeners = append(n.Listeners, network.Listener{Address: service, Port: logsPort, Default: logs.Name})
	to := other.Name
	if s.moved {
		to = ingress.Name
	}
	if s.name {
		n.Listeners[0].Forwards = append(n.Listeners[0].Forwards, network.Forward{ServerNames: []string{otherName}, Backend: to})
	}
	if s.listener {
		n.Listeners = append(n.Listeners, network.Listener{Address: service, Port: otherPort, Default: to})
	}
	behind[logs.Name] = []netip.AddrPort{netip.MustParseAddrPort(logsPod)}
	behind[other.Name] = behind[ingress.Name]
	// Of each backend with long connections: its pod, one more, another one alone, none.
	for _, b := range []network.Backend{api, oauth, logs} {
		first, second := behind[b.Name][0], netip.MustParseAddrPort("10.128.0.14:9")
		behind[b.Name] = [][]netip.AddrPort{{first}, {first, second}, {second}, {}}[s.endpoints%4]
	}
	r := resources.New(n, w.options(), behind)
	if s.spoil != nil {
		s.spoil(r)
	}
	return r
}

// A change is one kind of change, which may cut connections. A refused setup is spoiled. Restart: a new server sends
// it to Envoy.
type change struct {
	cause   string
	next    func(*setup)
	restart bool
}

// changes in the order in which they are made, again and again.
func changes() []change {
	return []change{
		{cause: "a server name comes or goes", next: func(s *setup) { s.name = !s.name }},
		{cause: "a listener comes or goes", next: func(s *setup) { s.listener = !s.listener }},
		{cause: "endpoints change", next: func(s *setup) { s.endpoints++ }},
		{cause: "Envoy refuses a listener", next: func(s *setup) {
			s.spoil = func(r resources.Resources) {
				r.Listeners[onVLAN+":443"].ListenerFiltersTimeout = durationpb.New(-time.Second)
			}
		}},
		{cause: "a name and a listener lead to another backend", next: func(s *setup) { s.spoil, s.moved = nil, !s.moved }},
		{cause: "endpoints change back", next: func(s *setup) { s.endpoints += 3 }},
		{cause: "Envoy refuses a cluster", next: func(s *setup) {
			s.spoil = func(r resources.Resources) {
				r.Clusters[resources.ClusterName(other)].ConnectTimeout = durationpb.New(-time.Second)
			}
		}},
		{cause: "the server restarts with another plan", restart: true, next: func(s *setup) { s.spoil, s.name, s.endpoints = nil, !s.name, s.endpoints+1 }},
	}
}

// A witness has long connections, and counts which of them were cut by what.
type witness struct {
	mu    sync.Mutex
	cause string
	cuts  map[string][]string
	end   chan struct{}
	open  sync.WaitGroup
}

// during names the cause of cuts from now on: the change under way.
func (x *witness) during(cause string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cause = cause
}

// keep uses a connection until it fails, which is a cut, or until the end.
func (x *witness) keep(name string, use func() error) {
	x.open.Go(func() {
		for {
			err := use()
			if err != nil {
				x.mu.Lock()
				defer x.mu.Unlock()
				x.cuts[x.cause] = append(x.cuts[x.cause], fmt.Sprintf("%s: %v", name, err))
				return
			}
			select {
			case <-x.end:
				return
			default:
			}
		}
	})
}

// idles is like a quiet watch: no byte in either direction until the end.
func (x *witness) idles(name string, u *tunnel) {
	_ = u.conn.SetDeadline(time.Time{})
	x.keep(name, func() error {
		_, err := u.lines.ReadString('\n')
		return err
	})
	x.open.Go(func() {
		<-x.end
		_, _ = io.WriteString(u.conn, "still there?\n")
	})
}

// streams is like an exec or a tunnel of konnectivity: bytes go both ways at an interval.
func (x *witness) streams(name string, u *tunnel, every time.Duration) {
	tick := time.NewTicker(every)
	x.keep(name, func() error {
		<-tick.C
		return u.works()
	})
}

// listens is like a follower of logs that has ended its side: bytes come from the other side alone.
func (x *witness) listens(t *testing.T, name string, w *world) {
	t.Helper()
	g := NewWithT(t)
	var c net.Conn
	var err error
	w.machine.Do(t, func() { c, err = net.DialTimeout("tcp4", fmt.Sprintf("%s:%d", onVLAN, logsPort), patient) })
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = c.Close() })
	g.Expect(c.(*net.TCPConn).CloseWrite()).To(Succeed())
	x.keep(name, func() error {
		_ = c.SetDeadline(time.Now().Add(patient))
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	})
}

// TestNothingCutsLongConnections: 100 connections like those of VMs survive 40 changes, or OOOI_CHANGES, of the plan and of endpoints, and
// rejections and restarts of the server. Removed listeners drain for only one second, so a connection that a change would end later is cut
// as well. Each cut names its cause.
func TestNothingCutsLongConnections(t *testing.T) {
	g := NewWithT(t)
	count := 40
	if s := os.Getenv("OOOI_CHANGES"); s != "" {
		var err error
		count, err = strconv.Atoi(s)
		g.Expect(err).NotTo(HaveOccurred())
	}
	w := newWorldThat(t, 2560<<20, 0, "1")
	w.pods.Serve(t, logsPod, func(c net.Conn) {
		var err error
		for tick := time.NewTicker(100 * time.Millisecond); err == nil; <-tick.C {
			_, err = io.WriteString(c, ".")
		}
	})
	var s setup
	w.server.Serve(s.resources(w))
	g.Eventually(w.server.Accepted, patient, "5ms").Should(Succeed())

	x := &witness{cuts: map[string][]string{}, end: make(chan struct{})}
	dial := func(port int, serverName string) *tunnel {
		u, err := w.dial(t, fmt.Sprintf("%s:%d", onVLAN, port), serverName)
		g.Expect(err).NotTo(HaveOccurred())
		return u
	}
	for i := range 20 {
		x.idles(fmt.Sprintf("watch %d", i), dial(6443, ""))
		x.idles(fmt.Sprintf("idle tunnel %d", i), dial(443, "oauth.blue.example.com"))
		x.streams(fmt.Sprintf("exec %d", i), dial(6443, ""), 40*time.Millisecond)
		x.streams(fmt.Sprintf("tunnel %d", i), dial(443, "oauth.blue.example.com"), 200*time.Millisecond)
		x.listens(t, fmt.Sprintf("logs %d", i), w)
	}
	made := map[string]int{}
	for i := range count {
		c := changes()[i%len(changes())]
		x.during(fmt.Sprintf("%s (change %d)", c.cause, i))
		c.next(&s)
		if c.restart {
			w.stopServer()
			g.Eventually(func() string { return w.counter(t, "control_plane.connected_state") }, patient, "5ms").Should(Equal("0"))
			w.startServer(t)
		}
		w.server.Serve(s.resources(w))
		if s.spoil == nil {
			g.Eventually(w.server.Accepted, patient, "1ms").Should(Succeed(), c.cause)
		} else {
			g.Eventually(w.server.Refusals, patient, "1ms").ShouldNot(BeEmpty(), c.cause)
		}
		made[c.cause]++
	}
	x.during("the end")
	close(x.end)
	x.open.Wait()
	for _, cause := range slices.Sorted(maps.Keys(made)) {
		t.Logf("%4d times: %s", made[cause], cause)
	}
	g.Expect(x.cuts).To(BeEmpty())
	g.Expect(w.counter(t, "listener_manager.lds.update_rejected")).NotTo(Equal("0"), "Envoy refused listeners")
	g.Expect(w.counter(t, "cluster_manager.cds.update_rejected")).NotTo(Equal("0"), "Envoy refused clusters")
}
