package gather

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
)

// TestLastReportIsReadOnce: an operator that restarts learns from the stored Report what was reported, with one request. A
// cluster of which nothing was reported costs none.
func TestLastReportIsReadOnce(t *testing.T) {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "blue"}}
	hc.Status.Conditions = []metav1.Condition{{Type: own.ConditionType, Message: "Nodes can boot.\nWarning EdgeUnavailable: Edge x is not ready.\n(settings 01234567)"}}
	key := own.StatusKey(hcp.ControlPlaneNamespace(hc))
	stored := func(of string) *corev1.ConfigMap {
		report := explain.Report{Version: 1, Cluster: of, Written: time.Unix(1, 0), Settings: "76543210"}
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
			live := &counted{Reader: fake.NewClientBuilder().WithObjects(c.exists...).Build()}
			var last *LastReport
			for _, reads := range c.reads {
				live.reads = 0
				report := Reader{Store: own.Store{Live: live}}.readReport(t.Context(), hc, last)
				if report.Cluster != "" {
					last = &LastReport{Report: report}
				}
				g.Expect(report.Settings).To(Equal(c.settings))
				g.Expect(live.reads).To(Equal(reads))
			}
		})
	}
}

// TestConditionOfAStaleCache: the condition that was written last counts until the cache has it, or a
// newer one. If the cache stays older, etcd was restored to an older state, and the cache is right.
func TestConditionOfAStaleCache(t *testing.T) {
	now := time.Unix(1, 0)
	written := metav1.Condition{Type: own.ConditionType, Status: metav1.ConditionFalse, Reason: "EdgeNotReady"}
	for name, c := range map[string]struct {
		version string
		known   *LastReport
		want    string
	}{
		"nothing is known":         {"11", nil, "Cached"},
		"the cache is older":       {"9", &LastReport{Condition: &written, Version: "12", At: now}, "EdgeNotReady"},
		"the cache is as new":      {"12", &LastReport{Condition: &written, Version: "12", At: now}, "Cached"},
		"someone else wrote later": {"13", &LastReport{Condition: &written, Version: "12", At: now}, "Cached"},
		"it was removed":           {"11", &LastReport{Version: "12", At: now}, ""},
		"etcd was restored":        {"9", &LastReport{Condition: &written, Version: "12", At: now.Add(-own.UnseenFor)}, "Cached"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{ResourceVersion: c.version}}
			hc.Status.Conditions = []metav1.Condition{{Type: "Available"}, {Type: own.ConditionType, Reason: "Cached"}}
			c.known.overlay(hc, now)
			got := ""
			if found := own.ConditionOf(hc); found != nil {
				got = found.Reason
			}
			g.Expect(got).To(Equal(c.want))
			g.Expect(hc.Status.Conditions[0].Type).To(Equal("Available"))
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
