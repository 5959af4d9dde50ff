package controllers

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
)

// TestStatusIsStoredAgain: a status that could not be stored is stored in the next pass, and then not until it changes.
func TestStatusIsStoredAgain(t *testing.T) {
	g := NewWithT(t)
	w, _ := served(t, "lb-ip")
	w.Binding = &metav1.PartialObjectMetadata{}
	d := decide.About(w, testOptions.Release, testNow)
	api := newTakes(t, 0)
	r := &Reconciler{Metrics: report.NewMetrics(prometheus.NewRegistry()), Client: api, Live: api, Options: testOptions, Now: func() time.Time { return testNow }}
	store := func() int {
		before := api.left
		w.PreviousReport = r.reporter().Keep(t.Context(), w, d, report.Of(w, d, apply.Outcome{}))
		return before - api.left
	}
	g.Expect(store()).To(Equal(1), "the API server is away")
	api.left = 9
	g.Expect(store()).To(Equal(1))
	g.Expect(store()).To(BeZero())
}

// TestLastReportIsReadOnce: an operator that restarts learns from the stored Report what was reported, with one request. A
// cluster of which nothing was reported costs none.
func TestLastReportIsReadOnce(t *testing.T) {
	w, _ := served(t, "lb-ip")
	hc := w.HostedCluster
	hc.Status.Conditions = []metav1.Condition{{Type: own.ConditionType, Message: "Nodes can boot.\nWarning EdgeUnavailable: Edge x is not ready.\n(settings 01234567)"}}
	key := own.StatusKey(w.ControlPlane.Namespace)
	stored := func(of string) *corev1.ConfigMap {
		report := explain.Report{Version: 1, Cluster: of, Written: testNow, Settings: "76543210"}
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: own.Labels(),
			Annotations: map[string]string{own.DesiredAnnotation: "x"}}, Data: map[string]string{wire.StatusKey: string(report.JSON())}}
		return cm
	}
	for name, c := range map[string]struct {
		exists   []client.Object
		settings string
		// reads of a pass, and of the next one.
		reads [2]int
	}{
		"it is stored":                  {[]client.Object{stored(own.ClusterName(hc))}, "76543210", [2]int{1, 0}},
		"it is about another cluster":   {[]client.Object{stored("clusters/green")}, "", [2]int{1, 1}},
		"it is not stored":              {nil, "", [2]int{1, 1}},
		"nothing was reported":          {[]client.Object{stored(own.ClusterName(hc))}, "", [2]int{0, 0}},
		"an object of others is stored": {[]client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}}, "", [2]int{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			hc := hc.DeepCopy()
			if c.reads == [2]int{} {
				hc.Status.Conditions = nil
			}
			live := &counted{Reader: newTakes(t, 0, c.exists...)}
			r := &Reconciler{Metrics: report.NewMetrics(prometheus.NewRegistry()), Live: live}
			for _, reads := range c.reads {
				live.reads = 0
				report := r.reader().ReadReport(t.Context(), hc, r.memory.of(client.ObjectKeyFromObject(hc)).reported)
				r.memory.read(client.ObjectKeyFromObject(hc), report)
				g.Expect(report.Settings).To(Equal(c.settings))
				g.Expect(live.reads).To(Equal(reads))
			}
		})
	}
}

// counted counts reads of single objects.
type counted struct {
	client.Reader
	reads int
}

func (c *counted) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	c.reads++
	return c.Reader.Get(ctx, key, o, opts...)
}
