// This file decides when machines are switched on and off: one for each virtual
// machine, as long as that exists. It never decides what a machine does.

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

// New gathers what workers of the hosted cluster called name need.
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

// BootAll waits until want virtual machines of the control plane namespace can be
// switched on, boots them side by side and returns when all have joined.
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

// Follow boots a worker for each virtual machine that appears in the control plane
// namespace and switches off those whose virtual machine is gone, until ctx ends.
// What fails is given to failed; the machine stays, to be looked at.
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
