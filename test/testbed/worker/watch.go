// This file decides when workers are booted and switched off: there is one for each VM in the management cluster while that exists.

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

// New returns the options for workers of the hosted cluster with this name. report becomes Options.Report.
func New(ctx context.Context, c *cluster.Cluster, h *hypershift.HyperShift, name string, report func(Event)) (Options, error) {
	config, err := h.RESTConfig()
	if err != nil {
		return Options{}, err
	}
	management, err := Management(config)
	if err != nil {
		return Options{}, err
	}
	guest, err := h.GuestRESTConfig(ctx, name)
	if err != nil {
		return Options{}, err
	}
	images, err := Images(c)
	if err != nil {
		return Options{}, err
	}
	return Options{Cluster: c, Management: management, Guest: rest.CopyConfig(guest), Images: images, Report: report}, nil
}

// BootAll waits until want VMs of the control plane namespace can be booted. It boots workers for them at the same time, and returns
// when all have joined.
func BootAll(ctx context.Context, o Options, namespace string, want int) ([]*Worker, error) {
	vms, err := waitVMs(ctx, o, namespace, want)
	if err != nil {
		return nil, err
	}
	workers := make([]*Worker, len(vms))
	group, gctx := errgroup.WithContext(ctx)
	for i, vm := range vms {
		group.Go(func() (err error) {
			workers[i], err = Boot(gctx, o, vm)
			return err
		})
	}
	return workers, group.Wait()
}

func waitVMs(ctx context.Context, o Options, namespace string, want int) ([]VM, error) {
	stop := telling(o.Waiting, func() string { return "waits for a VM: " + awaitedVM(ctx, o.Management, namespace) })
	defer stop()
	var vms []VM
	var last error
	err := await.Poll(ctx, await.Patience, func() (bool, error) {
		vms, _, last = VMs(ctx, o.Management, namespace)
		return last == nil && len(vms) >= want, nil
	})
	if err != nil {
		what := awaitedVM(context.WithoutCancel(ctx), o.Management, namespace)
		return nil, errors.Join(fmt.Errorf("%d of %d virtual machines in %s after %s: %s: %w", len(vms), want, namespace, await.Patience, what, err), last)
	}
	return vms[:want], nil
}

// Follow boots a worker for each VM that is created in the control plane namespace. It switches the worker off when the VM no longer
// exists. It continues until ctx ends, and calls failed with errors. The machine of a failed worker stays, for inspection.
func Follow(ctx context.Context, o Options, namespace string, failed func(error)) error {
	on := map[string]bool{}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		vms, waiting, err := VMs(ctx, o.Management, namespace)
		if err != nil {
			failed(err)
		} else {
			there := map[string]bool{}
			for _, vm := range vms {
				there[vm.Name] = true
				if on[vm.Name] {
					continue
				}
				on[vm.Name] = true
				go func() {
					if _, err := Boot(ctx, o, vm); err != nil {
						failed(err)
					}
				}()
			}
			for name := range on {
				if !there[name] && len(waiting) == 0 {
					delete(on, name)
					vm := VM{Namespace: namespace, Name: name}
					if err := machine.SwitchOff(ctx, machineName(o.Cluster, vm), stateDir(o.Cluster, vm)); err != nil {
						failed(err)
					}
				}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
