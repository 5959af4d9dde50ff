// This file writes an edge's report to the operator into a Lease object. No code waits for it.

package kube

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/reported"
)

const (
	// reportDelay is how long changes are collected: a peer that starts and stops costs one write a second.
	reportDelay = time.Second
	// reportRetry is when a failed write is retried.
	reportRetry = 5 * time.Second
	// reportEvery is how often a report may change after reportBurst changes, which a VM can cause.
	reportEvery, reportBurst = 10 * time.Second, 10
	// reportRecheck is how often the stored report is compared with the current one: a returned pod may have overwritten it.
	reportRecheck = 10 * time.Minute
	// reportRenew is how often the time of an unchanged report is written: for 500 hosted clusters of two edges, eight writes a
	// second.
	reportRenew = 2 * time.Minute
)

// A Reporter writes the report of one edge to a Lease.
type Reporter struct {
	// Renew is how often the renewTime of the Lease is written while the failover agent reports. Default: 2 minutes.
	Renew time.Duration
	// Node is the name of the node that the edge runs on. Empty: unknown.
	Node string

	objects leaseObjects
	lease   wire.ReportLease
	log     *slog.Logger
	signal  signal.Signal
	limit   *rate.Limiter

	mu sync.Mutex
	// failover is the failover agent's report, once known. servers and dhcp are what the DHCP server adds, if anything.
	failover reported.EdgeReport
	known    bool
	// heard is when the failover agent reported last.
	heard   time.Time
	servers []reported.UsedAddress
	dhcp    reported.DHCPReport
	hasDHCP bool
	// boots and omitted are written together with other changes: each VM that boots causes many.
	boots   []reported.Boot
	omitted int
	// report is the report without boots, and stored is the whole one.
	report, stored string
}

// Reporter returns a Reporter that writes to lease.
func (k *Kube) Reporter(lease wire.ReportLease) *Reporter {
	return &Reporter{Renew: reportRenew, objects: k.leases, lease: lease, log: k.log, limit: rate.NewLimiter(rate.Every(reportEvery), reportBurst)}
}

// Set replaces the report, except for its edge, its node and the parts of the DHCP server. It returns immediately. If it is
// not called for the time Renew, the renewTime of the Lease stays: readers notice an old report.
func (r *Reporter) Set(x reported.EdgeReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failover, r.known, r.heard = x, true, time.Now()
	r.compose()
}

// SetDHCPServers replaces the DHCP servers of the report. It returns immediately.
func (r *Reporter) SetDHCPServers(all []reported.UsedAddress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.servers = all
	r.compose()
}

// SetDHCP replaces what the DHCP server of the edge observes. It returns immediately.
func (r *Reporter) SetDHCP(x reported.DHCPReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dhcp, r.hasDHCP = x, r.hasDHCP || !x.IsZero()
	r.compose()
}

// SetBoots replaces the boots of VMs. It returns immediately, and causes no write: boots are up to Renew late.
func (r *Reporter) SetBoots(all []reported.Boot, omitted int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.boots, r.omitted = all, omitted
	r.compose()
}

// Connected returns Connected of the failover agent's last report. Empty: unknown.
func (r *Reporter) Connected() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failover.Connected
}

// compose assembles the report from as many parts as fit. The failover agent's part comes first: without it the edge
// would count as silent. The agent's report cannot set the other parts, since a VM may have taken over its container.
// The caller holds the lock.
func (r *Reporter) compose() {
	if !r.known && len(r.servers) == 0 && !r.hasDHCP && len(r.boots) == 0 {
		return
	}
	x := reported.EdgeReport{Edge: r.lease.Edge, Node: r.Node}.With(func(x *reported.EdgeReport) {
		*x = r.failover
		x.Edge, x.Node, x.DHCPServers, x.DHCP, x.Boots, x.BootsOmitted = r.lease.Edge, r.Node, nil, reported.DHCPReport{}, nil, 0
	})
	x = x.With(func(x *reported.EdgeReport) { x.DHCPServers = r.servers })
	x = x.With(func(x *reported.EdgeReport) { x.DHCP = r.dhcp })
	if text := string(x.JSON()); r.report != text {
		r.report = text
		r.signal.Notify()
	}
	x.Boots, x.BootsOmitted = r.boots, r.omitted
	r.stored = string(x.JSON())
}

func (r *Reporter) current() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stored
}

// renewed returns the renewTime to write, given the last one (nil: none). The time stays the same while the failover agent
// does not report.
func (r *Reporter) renewed(last *metav1.MicroTime, now time.Time) *metav1.MicroTime {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.heard.IsZero() || now.Sub(r.heard) > r.Renew || last != nil && now.Sub(last.Time) < r.Renew && now.After(last.Time) {
		return last
	}
	return new(metav1.NewMicroTime(now))
}

// Run writes the report when it differs from the stored one, until ctx ends, and retries.
func (r *Reporter) Run(ctx context.Context) {
	failed := ""
	for ctx.Err() == nil {
		changed, again := r.signal.Changed(), min(r.Renew, reportRecheck)
		if text := r.current(); text != "" {
			switch err := r.write(ctx, text); {
			case err == nil:
				failed = ""
			case failed != err.Error() && ctx.Err() == nil:
				failed = err.Error()
				r.log.Warn("report not written, trying again", "lease", r.lease.Name, "err", err)
				fallthrough
			default:
				again = reportRetry
			}
		}
		if signal.Wait(ctx, again, changed) {
			signal.Sleep(ctx, max(reportDelay, r.limit.Reserve().Delay()))
		}
	}
}

func (r *Reporter) write(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	o, err := r.objects.Get(ctx, r.lease.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = r.objects.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Name: r.lease.Name, Labels: r.lease.Labels, Annotations: map[string]string{wire.AnnotationReport: text},
		}, Spec: coordinationv1.LeaseSpec{RenewTime: r.renewed(nil, time.Now())}}, metav1.CreateOptions{FieldManager: wire.Owner})
		return err
	case err != nil:
		return err
	}
	labels := maps.Clone(o.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, r.lease.Labels)
	renewed := r.renewed(o.Spec.RenewTime, time.Now())
	if o.Annotations[wire.AnnotationReport] == text && renewed == o.Spec.RenewTime && maps.Equal(labels, o.Labels) {
		return nil
	}
	o.Spec.RenewTime = renewed
	o.Labels = labels
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	o.Annotations[wire.AnnotationReport] = text
	_, err = r.objects.Update(ctx, o, metav1.UpdateOptions{FieldManager: wire.Owner})
	return err
}
