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

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// TestCuts: what ends is said before it does, and nothing else is.
func TestCuts(t *testing.T) {
	old := func(w *world, names ...string) {
		for _, name := range names {
			w.set(name, older)
		}
	}
	for name, c := range map[string]struct {
		change func(*world, *Options)
		says   []string
	}{
		"nothing changes":    {func(*world, *Options) {}, nil},
		"another lease time": {func(w *world, _ *Options) { w.HostedCluster.Annotations = annotated(*w, "lease-time", "5m") }, nil},
		"another image": {func(_ *world, o *Options) { o.Image += "2" }, []string{
			"Recreating edge " + second + ". Edge " + first + " takes over its traffic first; open connections through " + second + " are reset once.",
			"Recreating edge " + second2 + ". Edge " + first2 + " takes over its traffic first"}},
		"the second's turn":           {func(w *world, _ *Options) { old(w, second) }, []string{"Recreating edge " + second + ". Edge " + first + " takes over"}},
		"one that does not serve":     {func(w *world, _ *Options) { old(w, second); w.set(second, stopped) }, nil},
		"one that waits for its turn": {func(w *world, _ *Options) { old(w, first); w.set(second, stopped) }, nil},
		"one edge instead of two":     {func(w *world, _ *Options) { w.HostedCluster.Annotations = annotated(*w, "edges", "1") }, []string{"Removing edge " + second, "Removing edge " + second2}},
		"other addresses": {func(w *world, _ *Options) {
			w.VMs = nil
			w.HostedCluster.Annotations = annotated(*w, "edge-addresses", "192.168.100.6,192.168.100.3,192.168.100.8,192.168.100.9")
		}, []string{"Network clusters/vlan100 changes: next-hop VIP 192.168.100.2 becomes 192.168.100.6. Connections through its edges are closed."}},
		"a port is published no more": {func(w *world, _ *Options) {
			n := &w.last.Networks[0]
			n.Listeners = append(n.Listeners[:len(n.Listeners):len(n.Listeners)], network.Listener{Address: n.ServiceVIP, Port: 8443, Default: "git:443"})
		}, []string{"Network clusters/vlan100 no longer answers at 192.168.100.3:8443."}},
		"an address is published no more": {func(w *world, _ *Options) {
			n := &w.last.Networks[0]
			gone := netip.MustParseAddr("10.240.0.201")
			n.PublishedAddresses = append(n.PublishedAddresses[:len(n.PublishedAddresses):len(n.PublishedAddresses)], gone)
			n.Listeners = append(n.Listeners[:len(n.Listeners):len(n.Listeners)], network.Listener{Address: gone, Port: 6443, Default: "kube-apiserver:6443"})
		}, []string{"no longer answers at 10.240.0.201:6443"}},
		"a network is retired": {func(w *world, _ *Options) {
			gone := w.last.Networks[1]
			gone.Name, gone.Attachment.Name = "clusters.backup", "backup"
			w.last.Networks = append(w.last.Networks[:2:2], gone)
			live, _ := w.deployment(first2)
			live.Name, live.Labels = wire.EdgeDeploymentName(gone, network.Edge{Number: 1}), wire.EdgeLabels(gone, network.Edge{Number: 1})
			w.edges = append(w.edges, edgeOf(live))
		}, []string{"Network clusters/backup is removed."}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := twoEdges(t)
			w.VMs = nil
			o := testOptions
			w.last.Networks = append([]network.Network(nil), w.last.Networks...)
			c.change(&w, &o)
			d := decide(w, o, testNow)
			said := sentences(d)
			for _, s := range c.says {
				g.Expect(said).To(ContainSubstring(s))
			}
			if len(c.says) == 0 {
				g.Expect(said).To(BeEmpty())
			}
			w = w.change(t, d)
			for _, e := range w.edges {
				w.set(e.Name, running)
			}
			for strings.Contains(sentences(decide(w, o, testNow)), "Recreating") {
				w = w.change(t, decide(w, o, testNow)) // The peer's turn.
				for _, e := range w.edges {
					w.set(e.Name, running)
				}
			}
			g.Expect(decide(w, o, testNow).disruptions).To(BeEmpty(), "once")
		})
	}
}

// TestOnlyEdgeRecreated: no edge takes over its VMs, and the Event says so.
func TestOnlyEdgeRecreated(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "one-edge")
	w.edges, w.last = nil, plan
	for _, e := range edges(t, w, plan) {
		w.edges = append(w.edges, edgeOf(older(running(e))))
	}
	d := decide(w, testOptions, testNow)
	g.Expect(d.disruptions).To(HaveLen(1))
	g.Expect(sentences(d)).To(ContainSubstring("the only available edge of its network. VMs get no answer until it is ready again"))
	g.Expect(heldOf(d)).To(BeEmpty())
}

func sentences(d decision) string {
	var all []string
	for _, c := range d.disruptions {
		all = append(all, c.text)
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
	NewWithT(t).Expect(AddToScheme(scheme)).To(Succeed())
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
	w.binding = &metav1.PartialObjectMetadata{}
	w.last.Networks = slices.Clone(w.last.Networks)
	gone := w.last.Networks[1]
	gone.Name, gone.Attachment.Name = "clusters.backup", "backup"
	w.last.Networks = append(w.last.Networks, gone)
	goes := made(t, object(w, edgeDeployment(w, gone, gone.Edges[0], testOptions, w.controlPlane.Namespace)))
	w.edges = append(w.edges, edgeOf(goes))
	o := testOptions
	o.Image += "2"
	d := decide(w, o, testNow)
	g.Expect(d.disruptions).To(HaveLen(3))
	says := func(writes int) (said string, err error) {
		events := events.NewFakeRecorder(10)
		api := newTakes(t, writes)
		r := &Reconciler{Client: api, Live: api, Events: events, Metrics: NewMetrics(prometheus.NewRegistry()), Options: o, Now: time.Now}
		_, err = r.serve(t.Context(), w, d)
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
	at := func(c disruption) (writes int) {
		for said := ""; writes < 100 && !strings.Contains(said, c.text); writes++ {
			said, _ = says(writes)
		}
		return writes - 1
	}
	g.Expect(d.disruptions[0].text).To(ContainSubstring("backup"))
	g.Expect(at(d.disruptions[0])).To(Equal(5), "the operator's rights, an account, its Role and RoleBinding, the plan")
	g.Expect(at(d.disruptions[1])).To(BeNumerically(">", 5))
	g.Expect(at(d.disruptions[2])).To(BeNumerically(">", at(d.disruptions[1])))
}
