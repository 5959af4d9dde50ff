// This file takes what all hosted clusters share from what was read last of it. Package environment reads it.

package gather

import (
	"context"
	"slices"

	"github.com/cldmnky/oooi/hcp/management"
)

// readEnvironment sets what all hosted clusters share. While a source
// was never read, what the plan in force has about it counts. The addresses of the cluster's own Services
// are added: Endpoints read them.
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
