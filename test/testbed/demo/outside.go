// This file shows two uses of edges besides the control plane: the ingress of the hosted cluster, and a user behind a router on
// the VLAN.

package main

import (
	"context"
	"fmt"
	"time"

	core "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/test/testbed/e2e"
)

// publishIngress starts stand-ins for OpenShift's router on the workers, and for KubeVirt's cloud controller. Then the first
// worker opens the console.
func publishIngress(ctx context.Context, d *demo) (string, error) {
	made, err := d.hypershift.BalanceIngress(ctx, d.hosted)
	if err != nil {
		return "", err
	}
	published := time.Now()
	if d.router, err = e2e.ReadGuestRouter(ctx, d.hypershift, d.state, "router-default"); err != nil {
		return "", err
	}
	for _, w := range d.workers {
		if err := d.router.Start(w); err != nil {
			return "", err
		}
	}
	err = e2e.Until(ctx, func(ctx context.Context) (_ bool, err error) {
		d.console, err = d.router.Ask(ctx, d.workers[0].Machine, "https")
		return d.console.Status == 200, err
	})
	return fmt.Sprintf("Service %s exists, as KubeVirt's cloud controller makes it; %.1fs later %s leads to %s",
		made.Name, time.Since(published).Seconds(), d.router.Console("https"), d.console.Server), err
}

// outside is a host behind a router on the VLAN, with the answers that it got.
type outside struct {
	e2e.Outsider
	nodes   []core.Node
	console string // the worker that answers
}

// answerOutside attaches a router to the VLAN, and sets the annotations gateway and client-networks for it. A host behind the
// router then resolves names at the edge, lists the nodes, and opens the console.
func answerOutside(ctx context.Context, d *demo) (string, error) {
	plan, err := d.state.Plan(ctx)
	if err != nil {
		return "", err
	}
	if d.outside.Outsider, err = e2e.PlugOutsider(ctx, d.cluster, "gateway", plan.Networks[0]); err != nil {
		return "", err
	}
	guest, err := d.hypershift.GuestRESTConfig(ctx, d.hosted)
	if err != nil {
		return "", err
	}
	guest.Timeout = 2 * time.Second
	annotated := time.Now()
	if err := d.state.Set(ctx, d.outside.Settings()); err != nil {
		return "", err
	}
	err = e2e.Until(ctx, func(ctx context.Context) (_ bool, err error) {
		ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
		defer cancel()
		if d.outside.nodes, err = d.outside.Nodes(ctx, guest); err != nil {
			return false, err
		}
		d.outside.console, err = d.router.AskFrom(ctx, d.outside.Outsider, "https")
		return len(d.outside.nodes) > 0, err
	})
	if err != nil {
		return "", fmt.Errorf("%s is not answered: %w", d.outside.Host, err)
	}
	return fmt.Sprintf("Host %s behind gateway %s uses the cluster %.1fs after annotations gateway and client-networks",
		d.outside.Host, d.outside.Address, time.Since(annotated).Seconds()), d.state.WaitReady(ctx)
}
