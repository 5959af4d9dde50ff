package controllers

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// TestCuts: what ends is said before it does, and nothing else is.
func TestCuts(t *testing.T) {
	old := func(w *gather.World, names ...string) {
		for _, name := range names {
			setEdge(w, name, older)
		}
	}
	for name, c := range map[string]struct {
		change func(*gather.World, *Options)
		says   []string
	}{
		"nothing changes":    {func(*gather.World, *Options) {}, nil},
		"another lease time": {func(w *gather.World, _ *Options) { w.HostedCluster.Annotations = annotated(*w, "lease-time", "5m") }, nil},
		"another image": {func(_ *gather.World, o *Options) { o.Image += "2" }, []string{
			"Recreating edge " + second + ". Edge " + first + " takes over its traffic first; open connections through " + second + " are reset once.",
			"Recreating edge " + second2 + ". Edge " + first2 + " takes over its traffic first"}},
		"the second's turn":           {func(w *gather.World, _ *Options) { old(w, second) }, []string{"Recreating edge " + second + ". Edge " + first + " takes over"}},
		"one that does not serve":     {func(w *gather.World, _ *Options) { old(w, second); setEdge(w, second, stopped) }, nil},
		"one that waits for its turn": {func(w *gather.World, _ *Options) { old(w, first); setEdge(w, second, stopped) }, nil},
		"one edge instead of two":     {func(w *gather.World, _ *Options) { w.HostedCluster.Annotations = annotated(*w, "edges", "1") }, []string{"Removing edge " + second, "Removing edge " + second2}},
		"other addresses": {func(w *gather.World, _ *Options) {
			w.VMs = nil
			w.HostedCluster.Annotations = annotated(*w, "edge-addresses", "192.168.100.6,192.168.100.3,192.168.100.8,192.168.100.9")
		}, []string{"Network clusters/vlan100 changes: next-hop VIP 192.168.100.2 becomes 192.168.100.6. Connections through its edges are closed."}},
		"a port is published no more": {func(w *gather.World, _ *Options) {
			n := &w.Last.Networks[0]
			n.Listeners = append(n.Listeners[:len(n.Listeners):len(n.Listeners)], network.Listener{Address: n.ServiceVIP, Port: 8443, Default: "git:443"})
		}, []string{"Network clusters/vlan100 no longer answers at 192.168.100.3:8443."}},
		"an address is published no more": {func(w *gather.World, _ *Options) {
			n := &w.Last.Networks[0]
			gone := netip.MustParseAddr("10.240.0.201")
			n.PublishedAddresses = append(n.PublishedAddresses[:len(n.PublishedAddresses):len(n.PublishedAddresses)], gone)
			n.Listeners = append(n.Listeners[:len(n.Listeners):len(n.Listeners)], network.Listener{Address: gone, Port: 6443, Default: "kube-apiserver:6443"})
		}, []string{"no longer answers at 10.240.0.201:6443"}},
		"a network is retired": {func(w *gather.World, _ *Options) {
			gone := w.Last.Networks[1]
			gone.Name, gone.Attachment.Name = "clusters.backup", "backup"
			w.Last.Networks = append(w.Last.Networks[:2:2], gone)
			live, _ := deploymentIn(*w, first2)
			live.Name, live.Labels = wire.EdgeDeploymentName(gone, network.Edge{Number: 1}), wire.EdgeLabels(gone, network.Edge{Number: 1})
			w.Edges = append(w.Edges, gather.EdgeOf(live))
		}, []string{"Network clusters/backup is removed."}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := twoEdges(t)
			w.VMs = nil
			o := testOptions
			w.Last.Networks = append([]network.Network(nil), w.Last.Networks...)
			c.change(&w, &o)
			d := decide.About(w, o.Release, testNow)
			said := sentences(d)
			for _, s := range c.says {
				g.Expect(said).To(ContainSubstring(s))
			}
			if len(c.says) == 0 {
				g.Expect(said).To(BeEmpty())
			}
			w = changed(w, t, d)
			for _, e := range w.Edges {
				setEdge(&w, e.Name, running)
			}
			for strings.Contains(sentences(decide.About(w, o.Release, testNow)), "Recreating") {
				w = changed(w, t, decide.About(w, o.Release, testNow)) // The peer's turn.
				for _, e := range w.Edges {
					setEdge(&w, e.Name, running)
				}
			}
			g.Expect(decide.About(w, o.Release, testNow).Disruptions).To(BeEmpty(), "once")
		})
	}
}

// TestOnlyEdgeRecreated: no edge takes over its VMs, and the Event says so.
func TestOnlyEdgeRecreated(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "one-edge")
	w.Edges, w.Last = nil, plan
	for _, e := range edges(t, w, plan) {
		w.Edges = append(w.Edges, gather.EdgeOf(older(running(e))))
	}
	d := decide.About(w, testOptions.Release, testNow)
	g.Expect(d.Disruptions).To(HaveLen(1))
	g.Expect(sentences(d)).To(ContainSubstring("the only available edge of its network. VMs get no answer until it is ready again"))
	g.Expect(heldOf(d)).To(BeEmpty())
}

func sentences(d decide.Decision) string {
	var all []string
	for _, c := range d.Disruptions {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n")
}

// takes is an API server that takes so many writes, and refuses all others. It stores none.
type takes struct {
	client.Client
	left int
}

func newTakes(t *testing.T, writes int, exist ...client.Object) *takes {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(watch.AddToScheme(scheme)).To(Succeed())
	return &takes{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(exist...).Build(), left: writes}
}

func (c *takes) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	if c.left--; c.left < 0 {
		return errors.New("the API server is away")
	}
	return nil
}

func (c *takes) Status() client.SubResourceWriter { return &takesStatus{takes: c} }

// takesStatus takes writes of a status.
type takesStatus struct {
	client.SubResourceWriter
	takes *takes
}

func (c *takesStatus) Apply(ctx context.Context, o runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	return c.takes.Apply(ctx, o)
}

func (c *takes) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return c.Apply(nil, nil)
}

// TestCutsAreSaidOnce: with the write that makes them, however often another one of
// the same pass is tried again.
func TestCutsAreSaidOnce(t *testing.T) {
	g := NewWithT(t)
	w, _ := twoEdges(t)
	w.Binding = &metav1.PartialObjectMetadata{}
	w.Last.Networks = slices.Clone(w.Last.Networks)
	gone := w.Last.Networks[1]
	gone.Name, gone.Attachment.Name = "clusters.backup", "backup"
	w.Last.Networks = append(w.Last.Networks, gone)
	goes := network.Plan{Cluster: w.Last.Cluster, Networks: []network.Network{gone}}
	w.Edges = append(w.Edges, gather.EdgeOf(edge(t, w, goes)))
	o := testOptions
	o.Image += "2"
	d := decide.About(w, o.Release, testNow)
	g.Expect(d.Disruptions).To(HaveLen(3))
	says := func(writes int) (said string, err error) {
		events := events.NewFakeRecorder(10)
		api := newTakes(t, writes)
		r := &Reconciler{Client: api, Live: api, Events: events, Metrics: report.NewMetrics(prometheus.NewRegistry()), Options: o, Now: time.Now}
		_, err = r.writer().Apply(t.Context(), w, d)
		close(events.Events)
		for e := range events.Events {
			said += e
		}
		return said, err
	}
	said, err := says(100)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Count(said, "A change is being applied.")).To(Equal(1))
	// at is after how many writes of a pass c is said.
	at := func(c decide.Disruption) (writes int) {
		for said := ""; writes < 100 && !strings.Contains(said, c.Text); writes++ {
			said, _ = says(writes)
		}
		return writes - 1
	}
	g.Expect(d.Disruptions[0].Text).To(ContainSubstring("backup"))
	g.Expect(at(d.Disruptions[0])).To(Equal(5), "the operator's rights, an account, its Role and RoleBinding, the plan")
	g.Expect(at(d.Disruptions[1])).To(BeNumerically(">", 5))
	g.Expect(at(d.Disruptions[2])).To(BeNumerically(">", at(d.Disruptions[1])))
}
