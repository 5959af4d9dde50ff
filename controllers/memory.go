// This file holds what the operator remembers of each hosted cluster between two
// reconciles. After a restart nothing is remembered, and all clusters are reconciled.

package controllers

import (
	"maps"
	"slices"
	"sync"
	"time"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// A memory holds what is remembered of each hosted cluster. The zero value is empty.
type memory struct {
	mu  sync.Mutex
	all map[types.NamespacedName]remembered
}

// A remembered is what is remembered of one hosted cluster. The zero value is that of one that was not
// seen yet.
type remembered struct {
	// reported is what was last reported. Nil: nothing was.
	reported *reportedLast
	// failing are the passes that failed since the last one that did not.
	failing failing
	// leases say when obsolete leases were last looked for.
	leases leaseCheck
	// loss is what the last pass saw of the annotation network.
	loss loss
	// led are the load balancers that this process led to edges.
	led map[string]bool
}

// A leaseCheck is when obsolete leases were last looked for, and which networks were served then.
type leaseCheck struct {
	served []string
	at     time.Time
}

// due reports whether to look for leases of other networks than those that are served.
func (c leaseCheck) due(served []string, now time.Time) bool {
	return !slices.Equal(c.served, served) || now.Sub(c.at) >= resyncReady
}

// A reportedLast is what was last reported of one hosted cluster.
type reportedLast struct {
	// report is the last Report, or what the operator before this one stored. Its time is zero if it is not stored.
	report explain.Report
	// condition is the condition of the HostedCluster that was written last, or found, nil where it
	// had none. version is the resource version of the HostedCluster with it. Empty: nothing was written yet.
	condition *metav1.Condition
	version   string
}

// overlay sets the condition of hc that was written last, where a cache does not have it yet. Otherwise
// an Event about it would be emitted twice.
func (l *reportedLast) overlay(hc *hyperv1.HostedCluster) {
	if l == nil || l.version == "" {
		return
	}
	if order, err := resourceversion.CompareResourceVersion(hc.ResourceVersion, l.version); err != nil || order >= 0 {
		return
	}
	hc.ResourceVersion = l.version
	meta.RemoveStatusCondition(&hc.Status.Conditions, ConditionType)
	if l.condition != nil {
		hc.Status.Conditions = append(hc.Status.Conditions, *l.condition)
	}
}

func (m *memory) of(key types.NamespacedName) remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[key]
}

// change replaces what is remembered of a cluster by what to makes of it, and returns what was before.
func (m *memory) change(key types.NamespacedName, to func(*remembered)) (before remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[types.NamespacedName]remembered{}
	}
	before = m.all[key]
	now := before
	to(&now)
	m.all[key] = now
	return before
}

// fails adds a pass that failed with these problems at time now.
func (m *memory) fails(key types.NamespacedName, problems network.Problems, now time.Time) (f failing) {
	m.change(key, func(x *remembered) {
		f = x.failing.next(problems, now)
		x.failing = f
	})
	return f
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, key)
}

// leads remembers whether a load balancer of a cluster was led to edges by this process, and returns whether it was before.
func (m *memory) leads(key types.NamespacedName, service string, now bool) (before bool) {
	m.change(key, func(x *remembered) {
		before = x.led[service]
		led := maps.Clone(x.led)
		if led == nil {
			led = map[string]bool{}
		}
		if led[service] = now; !now {
			delete(led, service)
		}
		x.led = led
	})
	return before
}
