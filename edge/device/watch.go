// This file keeps a snapshot current: it reads again at each report of the kernel, and every few
// seconds.

package device

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/signal"
)

const (
	// pollInterval is how often the snapshot is read without a report. The kernel drops reports that
	// do not fit the socket's buffer (ENOBUFS).
	pollInterval = 5 * time.Second
	// settleTime is how long reports are gathered: one change causes several reports.
	settleTime = 2 * time.Millisecond
)

// groups are the changes that the kernel reports. NETCONF stands for the sysctls forwarding and
// rp_filter.
var groups = []uint{
	unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV4_NETCONF,
	unix.RTNLGRP_IPV6_IFADDR, unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_IPV6_NETCONF,
}

// A Watcher keeps the Snapshot of one interface current.
type Watcher struct {
	mu     sync.Mutex
	now    Snapshot
	err    error
	signal signal.Signal
}

// Watch follows the named interface in the network namespace of the calling thread until ctx
// ends. It waits for an interface that does not exist; see Current. An error means that the
// kernel cannot be asked at all.
func Watch(ctx context.Context, name string) (*Watcher, error) {
	return watch(ctx, name, pollInterval)
}

// watch is Watch with another interval for reads without a report.
func watch(ctx context.Context, name string, every time.Duration) (*Watcher, error) {
	k, err := openKernel()
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	reports, err := nl.Subscribe(unix.NETLINK_ROUTE, groups...)
	if err != nil {
		k.close()
		return nil, fmt.Errorf("netlink subscription: %w", err)
	}
	w := &Watcher{}
	w.now, w.err = k.read(name)
	reported := make(chan struct{}, 1)
	context.AfterFunc(ctx, reports.Close)
	go receive(ctx, reports, reported)
	go func() {
		defer k.close()
		w.follow(ctx, every, func() (Snapshot, error) { return k.read(name) }, reported)
	}()
	return w, nil
}

// Current returns the newest snapshot, or an error while the interface does not exist.
func (w *Watcher) Current() (Snapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now, w.err
}

// Changed returns a channel that is closed at the next change of Current. Call it before Current.
func (w *Watcher) Changed() <-chan struct{} { return w.signal.Changed() }

// follow reads at each report and after each interval until ctx ends.
func (w *Watcher) follow(ctx context.Context, every time.Duration, read func() (Snapshot, error), reported <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-reported:
			time.Sleep(settleTime)
		case <-tick.C:
		}
		w.set(read())
	}
}

func (w *Watcher) set(s Snapshot, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Equal(w.now) && (err == nil) == (w.err == nil) && (err == nil || err.Error() == w.err.Error()) {
		return
	}
	w.now, w.err = s, err
	w.signal.Notify()
}

// receive signals each report to reported until ctx ends. It also signals each error, since reports
// may be lost.
func receive(ctx context.Context, reports *nl.NetlinkSocket, reported chan<- struct{}) {
	for ctx.Err() == nil {
		_, _, err := reports.Receive()
		select {
		case reported <- struct{}{}:
		default:
		}
		if err != nil && err != unix.ENOBUFS {
			// A socket that always fails must not be read without a pause.
			signal.Sleep(ctx, pollInterval)
		}
	}
}
