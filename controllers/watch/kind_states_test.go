package watch

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/network/problem"
)

// TestKindStates: what a read, a plan and the readiness probe make of each state of a kind.
func TestKindStates(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "nodepools"}, "")
	forbidden, away := errors.New("forbidden"), &url.Error{Op: "Get", URL: "https://192.0.2.11", Err: errors.New("connection refused")}
	for name, c := range map[string]struct {
		state    kindState
		used     bool
		read     string // "" succeeds
		complete bool
		ready    bool
	}{
		"absent":                             {state: kindState{absent: true}, read: "no matches", complete: true, ready: true},
		"watched":                            {state: kindState{synced: []func() bool{yes, yes}}, complete: true, ready: true},
		"not listed yet":                     {state: kindState{synced: []func() bool{no}}, read: "not listed yet"},
		"one cache of two is not":            {state: kindState{synced: []func() bool{yes, no}}, read: "not listed yet"},
		"never listed, as a right lacks":     {state: kindState{synced: []func() bool{no}, err: forbidden}, read: "forbidden"},
		"listed, and then a right lacks":     {state: kindState{synced: []func() bool{yes}, err: forbidden}},
		"listed, and then no answer":         {state: kindState{synced: []func() bool{yes}, err: away, since: time.Now()}, complete: true, ready: true},
		"listed, and long no answer":         {state: kindState{synced: []func() bool{yes}, err: away, since: time.Now().Add(-unreadyAfter)}, complete: true},
		"no answer, and never listed":        {state: kindState{synced: []func() bool{no}, err: away, since: time.Now()}, read: "refused"},
		"served in another version only":     {state: kindState{err: errors.New("serves version v1")}, read: "serves version v1"},
		"removed, and no cluster opted in":   {state: kindState{synced: []func() bool{yes}, err: gone}, ready: true},
		"removed, and a cluster is affected": {state: kindState{synced: []func() bool{yes}, err: gone}, used: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(AddToScheme(scheme)).To(Succeed())
			k := NewKinds(scheme, time.Second)
			g.Expect(k.Ready(nil)).NotTo(Succeed(), "nothing was looked up yet")
			k.used = c.used
			k.at(schema.GroupVersionKind{Group: "hypershift.openshift.io", Version: "v1beta1", Kind: "NodePool"}, func(s *kindState) { *s = c.state })
			for _, o := range []runtime.Object{&lenient.NodePool{}, &lenient.NodePoolList{}} {
				err := k.readable(o)
				if c.read == "" {
					g.Expect(err).NotTo(HaveOccurred())
					continue
				}
				g.Expect(err).To(MatchError(ContainSubstring(c.read)))
				g.Expect(meta.IsNoMatchError(err)).To(Equal(c.state.absent), "only a kind that is absent has no objects")
				g.Expect(apierrors.IsNotFound(err)).To(BeFalse(), "an object of it may exist")
			}
			g.Expect(k.readable(&corev1.ServiceList{})).To(Succeed(), "another kind")
			g.Expect(k.Complete() == nil).To(Equal(c.complete))
			g.Expect(k.Ready(nil) == nil).To(Equal(c.ready))
			if !c.complete {
				g.Expect(k.unwatched()).To(HaveLen(1))
				g.Expect(k.unwatched()[0].Problem().Cause).To(Equal(problem.KindNotWatched))
			}
		})
	}
}

// TestFirstReconcilesWaitForAllKinds, but not for ever, and not for a kind that cannot be listed.
func TestFirstReconcilesWaitForAllKinds(t *testing.T) {
	g := NewWithT(t)
	at := time.Unix(1.7e9, 0)
	k, gvk := NewKinds(runtime.NewScheme(), time.Second), schema.GroupVersionKind{Kind: "NodePool"}
	k.at(gvk, func(s *kindState) { s.synced, s.begun = []func() bool{func() bool { return false }}, at })
	g.Expect(k.settled(at.Add(time.Second))).To(BeFalse())
	g.Expect(k.settled(at.Add(listedWithin))).To(BeTrue())
	k.Observe(gvk, errors.New("forbidden"))
	g.Expect(k.settled(at.Add(time.Second))).To(BeTrue())
}

// TestAPIServerAway: that the API server does not answer is no problem of a kind while it answers about
// none, and for a while after it answers about one again.
func TestAPIServerAway(t *testing.T) {
	g := NewWithT(t)
	long := time.Now().Add(-time.Hour)
	away := &url.Error{Op: "Get", URL: "https://192.0.2.11", Err: errors.New("connection refused")}
	k := NewKinds(runtime.NewScheme(), time.Second)
	for _, gvk := range []schema.GroupVersionKind{own.DeploymentKind, own.ConfigMapKind} {
		k.at(gvk, func(s *kindState) {
			*s = kindState{synced: []func() bool{func() bool { return true }}, err: away, since: long}
		})
	}
	g.Expect(k.Complete()).To(Succeed(), "it answers about none")
	g.Expect(k.Ready(nil)).NotTo(Succeed())
	k.Observe(own.DeploymentKind, nil)
	g.Expect(k.Complete()).To(Succeed(), "it has just answered")
	k.answered = long
	g.Expect(k.Complete()).To(MatchError(ContainSubstring("ConfigMap")), "it answers about others only")
}

// TestWordsOfAWatch: an error that names another port each time reconciles all clusters once.
func TestWordsOfAWatch(t *testing.T) {
	g := NewWithT(t)
	k := &Keeper{Kinds: NewKinds(nil, time.Second), Metrics: metrics.Register(prometheus.NewRegistry(), metrics.Operator), Log: logr.Discard(), Clusters: func(context.Context) int { return 1 },
		Changed: make(chan event.GenericEvent, 9)}
	said, service := "", corev1.SchemeGroupVersion.WithKind("Service")
	for _, port := range []string{"1", "2", "3"} {
		k.Observe(service, errors.New("read tcp 10.1.2.3:"+port+": connection reset"))
		said = k.report(t.Context(), said)
	}
	g.Expect(k.Changed).To(HaveLen(1))
	k.Observe(corev1.SchemeGroupVersion.WithKind("Node"), errors.New("x"))
	k.report(t.Context(), said)
	g.Expect(k.Changed).To(HaveLen(2))
}
