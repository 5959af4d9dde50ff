// This file copies to a World what all hosted clusters share. Package environment has read it.

package gather

import (
	"context"
	"slices"

	"github.com/cldmnky/oooi/hcp/management"
)

// readEnvironment sets what all hosted clusters share, and adds the addresses in w.Services. The plan in force replaces
// sources that were never read.
func (r Reader) readEnvironment(ctx context.Context, w *World) error {
	e, err := r.Shared.Current(ctx)
	if err != nil {
		return err
	}
	e = e.With(w.Last)
	w.Nodes, w.Management, w.Proxy, w.Permissions = e.Nodes, r.Management, r.Proxy, r.Permissions
	w.Management.Networks = slices.Concat(w.Management.Networks, e.Networks)
	w.Management.PriorityClass, w.Management.MultusIsolates = e.PriorityClass, e.MultusIsolates
	w.Management.Observed = slices.Concat(e.Observed, management.ServiceAddresses(w.Services, nil))
	return nil
}
