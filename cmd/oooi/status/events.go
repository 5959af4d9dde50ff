// This file reads the Warning events about the HostedCluster and its edges for `oooi status`, and decides which are
// shown.

package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
)

const (
	// mostEvents limits the number of events that are shown.
	mostEvents = 5
	// mostEventText limits what is shown of an event, in bytes.
	mostEventText = 500
)

// readEvents reads Warning events of the namespaces of the HostedCluster and of its control plane. Events that cannot be
// read are not in r.unread, because no answer depends on them.
func (r *Reader) readEvents(ctx context.Context) error {
	for _, namespace := range []string{r.Namespace, r.ControlPlane} {
		found, err := source.Warnings(namespace).Read(ctx, r.API)
		switch {
		case apierrors.IsForbidden(err):
			r.eventsUnread = append(r.eventsUnread, noRight("Events in namespace "+namespace))
		case errors.Is(err, source.ErrMoreEvents):
			r.eventsUnread = append(r.eventsUnread, fmt.Sprintf("Namespace %s has too many warnings, or too large ones. There may be newer ones.", namespace))
		case err != nil:
			r.eventsUnread = append(r.eventsUnread, fmt.Sprintf("Events in namespace %s: %v", namespace, err))
		}
		for _, o := range found {
			var e corev1.Event
			if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &e) == nil { // Others are not shown.
				r.events = append(r.events, e)
			}
		}
	}
	return ctx.Err()
}

// recentEvents returns at most mostEvents Warning events about the HostedCluster and its edges, the newest first. If
// events differ only in their time, as after several failed probes, it returns only the newest of them.
func (f Facts) recentEvents() (out []statusEvent) {
	for _, e := range f.events {
		of := e.InvolvedObject
		ofCluster := of.Kind == "HostedCluster" && of.Namespace == f.Namespace && of.Name == f.Name
		ofEdge := of.Namespace == f.ControlPlane && strings.HasPrefix(of.Name, wire.NameEdge+"-")
		if e.Type != corev1.EventTypeWarning || !ofCluster && !ofEdge {
			continue // An archive has events of all types, because it ignores the field selector.
		}
		out = append(out, statusEvent{happened(e), of.Kind + " " + of.Namespace + "/" + of.Name, e.Reason, explain.Shorten(strings.Join(strings.Fields(e.Message), " "), mostEventText)})
	}
	slices.SortFunc(out, func(a, b statusEvent) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Text, b.Text))
	})
	said := map[statusEvent]bool{}
	out = slices.DeleteFunc(out, func(e statusEvent) bool {
		e.Time = time.Time{}
		again := said[e]
		said[e] = true
		return again
	})
	return out[:min(len(out), mostEvents)]
}

// happened returns the newest of the times in e. Event recorders use different fields for the last occurrence.
func happened(e corev1.Event) time.Time {
	last := e.CreationTimestamp.Time
	for _, t := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time} {
		if t.After(last) {
			last = t
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	return last.UTC().Truncate(time.Second)
}
