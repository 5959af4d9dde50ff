package controllers

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/report"
)

// logged are the lines of one reconcile of w, each as its keys and values. Every one
// of them names the cluster.
func logged(t *testing.T, w gather.World, o Options) []map[string]any {
	t.Helper()
	g := NewWithT(t)
	var out bytes.Buffer
	w.Binding = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "rights"}}
	var exist []client.Object
	for _, e := range w.Edges {
		exist = append(exist, e.Live.DeepCopy())
	}
	api := newTakes(t, 100, exist...)
	r := &Reconciler{Client: api, Live: api, Events: events.NewFakeRecorder(20), Metrics: report.NewMetrics(prometheus.NewRegistry()), Options: o, Now: func() time.Time { return testNow }}
	req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.HostedCluster)}
	ctx := logr.NewContext(t.Context(), clusterLog(logr.FromSlogHandler(slog.NewJSONHandler(&out, nil)))(&req))
	_, err := r.carryOut(ctx, ctx, w, decide.About(w, o.Release, testNow))
	g.Expect(err).NotTo(HaveOccurred())
	var lines []map[string]any
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var line map[string]any
		g.Expect(decoder.Decode(&line)).To(Succeed())
		g.Expect(line).To(HaveKeyWithValue("cluster", own.ClusterName(w.HostedCluster)), "%v", line)
		lines = append(lines, line)
	}
	return lines
}

// has matches a line with this message, and these keys and values.
func has(msg string, keys ...any) types.GomegaMatcher {
	all := []types.GomegaMatcher{HaveKeyWithValue("msg", msg)}
	for i := 0; i < len(keys); i += 2 {
		all = append(all, HaveKeyWithValue(keys[i], keys[i+1]))
	}
	return And(all...)
}

// TestLog: what the operator did with each edge, and why, is in its log.
func TestLog(t *testing.T) {
	two, _ := twoEdges(t)
	image := testOptions
	image.Image += "2"
	one := two
	one.HostedCluster = two.HostedCluster.DeepCopy()
	one.HostedCluster.Annotations = annotated(two, "edges", "1")
	for _, e := range two.Edges {
		o := metav1.PartialObjectMetadata{ObjectMeta: e.Live.ObjectMeta}
		o.SetGroupVersionKind(own.DeploymentKind)
		one.Owned = append(one.Owned, o)
	}
	off := one
	off.HostedCluster = two.HostedCluster.DeepCopy()
	off.HostedCluster.Annotations = annotated(two, "network", "none")
	for name, c := range map[string]struct {
		world   gather.World
		options Options
		lines   []types.GomegaMatcher
	}{
		"addresses are checked": {func() gather.World { w := askFirst(t, "lb-ip"); w.Edges = nil; return w }(), testOptions, []types.GomegaMatcher{
			has("plan applied", "networks", ConsistOf("clusters/vlan100")),
			has("address conflict detection started", "network", "clusters.vlan100"),
			has("problem", "reason", "AddressCheckPending", "severity", "Waiting", "subject", "Network clusters/vlan100"),
			has("condition changed", "reason", "AddressCheckPending", "ready", false),
		}},
		"the check passed": {func() gather.World { w, _ := served(t, "lb-ip"); return w }(), testOptions, []types.GomegaMatcher{
			has("edge created", "edge", first, "network", "clusters.vlan100"),
		}},
		"a new image": {two, image, []types.GomegaMatcher{
			has("edge recreated", "edge", second, "peer", first, "network", "clusters.vlan100", "version", "Outdated", "health", "Serving"),
			has("edge on hold", "edge", first, "peer", second, "network", "clusters.vlan100", "version", "Outdated", "health", "Serving"),
		}},
		"one edge instead of two": {one, testOptions, []types.GomegaMatcher{
			has("edge removed", "edge", second, "network", "clusters.vlan100", "peer", first, "health", "Serving"),
		}},
		"opted out": {off, testOptions, []types.GomegaMatcher{
			has("object removed", "kind", "Deployment", "name", first),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			lines := logged(t, c.world, c.options)
			for _, line := range c.lines {
				g.Expect(lines).To(ContainElement(line))
			}
			g.Expect(lines).NotTo(ContainElement(HaveKeyWithValue("msg", ContainSubstring("oooi-"))), "values are keys")
		})
	}
}
