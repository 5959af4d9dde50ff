// This file decides on what stage faults are shown: a hosted cluster with one edge or
// two on two nodes, a worker that joined, a further machine whose lease is renewed all
// the time, and what of all this must hold whatever happens to an edge.

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/measure"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/lease"
	"github.com/cldmnky/oooi/test/testbed/worker"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

// A stage is where edges fail.
type stage struct {
	bed
	hosted  Hosted
	network network.Network
	worker  *worker.Worker
	guest   kubernetes.Interface
	// direct dials the hosted API server past the edges.
	direct   func(ctx context.Context, network, address string) (net.Conn, error)
	api      string // address and port that the worker dials
	name     string // that it asks for
	client   *lease.Client
	stations []station   // the worker's and the renewing machine's
	quiet    measure.Row // the worst of the rows in which nothing happened
}

// newStage lets a worker join a hosted cluster with so many edges. Its control plane
// stays on the first node, so that the second can be lost.
func newStage(t *testing.T, b bed, edges, vlan int, more map[string]string) *stage {
	t.Helper()
	g := NewWithT(t)
	annotations := map[string]string{Annotation: "auto", Prefix + "edges": strconv.Itoa(edges)}
	for key, value := range more {
		annotations[Prefix+key] = value
	}
	h, w := joined(t, b, hypershift.HostedClusterOptions{
		Name: fmt.Sprintf("edges%d", edges), Strategy: hypershift.LoadBalancerIP, VLAN: vlan, Annotations: annotations, Flags: onFirstNode(),
	})
	s := stageOf(t, b, h, w)
	g.Expect(s.network.Edges).To(HaveLen(edges))
	return s
}

// onFirstNode are flags that keep the control plane of a hosted cluster on the first node.
func onFirstNode() []string { return []string{"--node-selector=kubernetes.io/hostname=node1"} }

// stageOf makes a hosted cluster with a worker a stage.
func stageOf(t *testing.T, b bed, h Hosted, w *worker.Worker) *stage {
	t.Helper()
	g := NewWithT(t)
	host, port, err := b.hypershift.WaitEndpoint(t.Context(), h.Name)
	g.Expect(err).NotTo(HaveOccurred())
	s := &stage{bed: b, hosted: h, worker: w, api: net.JoinHostPort(host, strconv.Itoa(int(port)))}
	config, err := b.hypershift.GuestRESTConfig(t.Context(), h.Name)
	g.Expect(err).NotTo(HaveOccurred())
	s.direct = config.Dial
	s.guest, err = kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	plan, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	s.network = networkOf(t, plan, s.worker)
	for _, r := range s.network.DNS.Views[0].Records {
		if !strings.HasPrefix(r.Name, "*") {
			s.name = r.Name
		}
	}
	renewing := b.plug(t, "renew"+h.Name, s.worker.VM.VLAN)
	dir := filepath.Join(s.cluster.Dir, "renew-"+h.Name)
	g.Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	s.client, err = lease.NewClient(s.ctx, renewing.netNS, renewing.card, dir)
	g.Expect(err).NotTo(HaveOccurred())
	s.stations = []station{{s.worker.Machine.NetNS(), machine.Interface}, renewing}
	return s
}

// plug attaches a client that is not a VM to a VLAN: a network namespace with an interface.
func (b bed) plug(t *testing.T, name string, vlan int) station {
	t.Helper()
	g := NewWithT(t)
	const card = "eth0"
	name = b.cluster.HostName(name)
	remove := func() error {
		_ = exec.Command("ip", "-n", name, "link", "delete", card).Run() // now: with its namespace it goes some time later
		return lan.DeleteNetNS(name)
	}
	g.Expect(remove()).To(Succeed())
	g.Expect(lan.NewNetNS(name)).To(Succeed())
	t.Cleanup(func() { _ = remove() })
	path := lan.NetNSPath(name)
	g.Expect(b.cluster.LAN().PlugVLAN(t.Context(), path, card, vlan, nil)).To(Succeed())
	return station{path, card}
}

// pods are the edges' that run.
func (s *stage) pods(t *testing.T) []edgePod {
	t.Helper()
	pods, err := edgePods(t.Context(), s.hosted, s.network.Name)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return pods
}

// whole waits until every edge serves and, where there are two, each says that it sees
// the other serve.
func (s *stage) whole(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		edges, err := s.hosted.Edges(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(edges).To(HaveLen(len(s.network.Edges)))
		g.Expect(edges).To(HaveEach(Satisfy(Available)))
		pods, err := edgePods(t.Context(), s.hosted, s.network.Name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pods).To(HaveLen(len(s.network.Edges)))
		g.Expect(pods).To(HaveEach(Satisfy(edgePod.ready)))
		if len(s.network.Edges) > 1 {
			said, err := reports(t.Context(), s.hosted, s.network.Name)
			g.Expect(err).NotTo(HaveOccurred())
			for _, e := range s.network.Edges {
				g.Expect(said).To(HaveKeyWithValue(e.Number, HaveField("Peer", string(failover.PeerServing))))
			}
		}
	}).WithPolling(200*time.Millisecond).Should(Succeed(), "every edge serves")
}

// sendTo has all machines send to that edge.
func (s *stage) sendTo(t *testing.T, edge edgePod) {
	t.Helper()
	for _, m := range s.stations {
		NewWithT(t).Expect(m.head(t.Context(), s.network.NextHopVIP, edge.mac)).To(Succeed())
	}
}

// start begins to measure from the worker, and returns when everything is answered.
func (s *stage) start(t *testing.T) (m *measure.Measurement, stop func() measure.Report) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	o := measure.Options{
		Dial: lan.DialNetNS(s.worker.Machine.NetNS()), API: s.api, Long: 4,
		DNS: netip.AddrPortFrom(s.network.ServiceVIP, 53).String(), Question: s.name, Renew: s.client.Renew,
	}
	if tellsTime(s.network) {
		o.NTP = netip.AddrPortFrom(s.network.ServiceVIP, 123).String()
	}
	m = measure.Start(ctx, o)
	quiet(t, m, 2*time.Second)
	return m, func() measure.Report {
		cancel()
		return m.Wait()
	}
}

// tellsTime reports whether edges of the network answer NTP.
func tellsTime(n network.Network) bool { return slices.Contains(n.Services, network.ServiceNTP) }

// quiet waits until everything that was asked in the last so long was answered.
func quiet(t *testing.T, m *measure.Measurement, long time.Duration) {
	t.Helper()
	failures := func() int { return m.Report().Failures() }
	last, since := failures(), time.Now()
	NewWithT(t).Eventually(func() time.Duration {
		if n := failures(); n != last || m.Report().TLS.Asked == 0 {
			last, since = n, time.Now()
		}
		return time.Since(since)
	}).WithPolling(100*time.Millisecond).Should(BeNumerically(">", long), func() string { return fmt.Sprintf("something fails all the time: %+v", m.Report()) })
}

// A holding is what must not change whatever happens to an edge.
type holding struct {
	address netip.Prefix // the worker's
	server  netip.Addr
	ready   meta.Time // since when its node is
}

// holds is what is so now; an error where the node is not Ready, or its machine has no
// address.
func (s *stage) holds(ctx context.Context) (holding, error) {
	lease, err := s.worker.Machine.Lease()
	if err != nil {
		return holding{}, fmt.Errorf("the worker has no address: %w", err)
	}
	node, err := s.guest.CoreV1().Nodes().Get(ctx, s.worker.VM.Name, meta.GetOptions{})
	if err != nil {
		return holding{}, err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == core.NodeReady && c.Status == core.ConditionTrue {
			return holding{lease.Address, lease.Server, c.LastTransitionTime}, nil
		}
	}
	return holding{}, fmt.Errorf("node %s is not Ready", node.Name)
}

// held is what holds now.
func (s *stage) held(t *testing.T) (now holding) {
	t.Helper()
	NewWithT(t).Eventually(func() (err error) { now, err = s.holds(t.Context()); return err }).WithPolling(time.Second).Should(Succeed())
	return now
}

// renews waits until the renewing machine keeps its address.
func (s *stage) renews(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(func() (netip.Addr, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // one message may be lost
		defer cancel()
		return s.client.Renew(ctx)
	}).Should(Equal(s.client.Address))
}
