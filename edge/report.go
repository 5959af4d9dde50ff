// This file keeps what an edge tells the operator in a Lease object, which is one
// thing it may write. It never decides what is told, and nothing waits for it.

package edge

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

const (
	// gathered is how long changes of a report are gathered for, so that a sibling
	// that comes and goes costs a write a second at most.
	gathered = time.Second
	// reportAgain is when a report that could not be written is tried again.
	reportAgain = 5 * time.Second
	// reportChecked is how often it is looked whether the report still stands: a pod
	// that was cut off and came back may have written over it.
	reportChecked = 10 * time.Minute
)

// A Reporter keeps one report in a cluster.
type Reporter struct {
	client    kubernetes.Interface
	namespace string
	lease     wire.ReportLease
	log       *slog.Logger
	signal    signal

	mu     sync.Mutex
	report string
}

// Reporter keeps a report in a Lease object.
func (k *Kube) Reporter(lease wire.ReportLease) *Reporter {
	return &Reporter{client: k.client, namespace: k.namespace, lease: lease, log: k.log}
}

// Tell replaces the report. It returns at once.
func (r *Reporter) Tell(x network.Report) {
	text := string(x.JSON())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.report != text {
		r.report = text
		r.signal.notify()
	}
}

func (r *Reporter) told() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.report
}

// Run writes what was told until ctx ends: where it differs from what stands
// there, and again and again while the API server is away.
func (r *Reporter) Run(ctx context.Context) {
	failed := ""
	for ctx.Err() == nil {
		changed, again := r.signal.changed(), reportChecked
		if text := r.told(); text != "" {
			switch err := r.write(ctx, text); {
			case err == nil:
				failed = ""
			case failed != err.Error() && ctx.Err() == nil:
				failed = err.Error()
				r.log.Warn("report not written, trying again", "lease", r.lease.Name, "err", err)
				fallthrough
			default:
				again = reportAgain
			}
		}
		timer := time.NewTimer(again)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-changed:
			timer.Reset(gathered)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
		}
		timer.Stop()
	}
}

func (r *Reporter) write(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	api := r.client.CoordinationV1().Leases(r.namespace)
	o, err := api.Get(ctx, r.lease.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = api.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Name: r.lease.Name, Labels: r.lease.Labels, Annotations: map[string]string{wire.AnnotationReport: text},
		}}, metav1.CreateOptions{FieldManager: wire.Owner})
		return err
	case err != nil:
		return err
	}
	labels := maps.Clone(o.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, r.lease.Labels)
	if o.Annotations[wire.AnnotationReport] == text && maps.Equal(labels, o.Labels) {
		return nil
	}
	o.Labels = labels
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	o.Annotations[wire.AnnotationReport] = text
	_, err = api.Update(ctx, o, metav1.UpdateOptions{FieldManager: wire.Owner})
	return err
}
