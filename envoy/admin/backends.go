// This file reads from Envoy how many endpoints of each backend can be used. It changes nothing.

package admin

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// A BackendHealth counts the endpoints of a backend. Package resources decides when an endpoint is healthy.
type BackendHealth struct {
	// Endpoints is how many endpoints Envoy has. Healthy is how many of them are healthy.
	Endpoints, Healthy int
}

// Dark reports whether the backend has endpoints but no healthy one.
func (h BackendHealth) Dark() bool { return h.Endpoints > 0 && h.Healthy == 0 }

// membership matches the names of the counters that BackendHealth reads.
const membership = `^cluster\..*\.membership_(total|healthy)$`

// BackendHealth returns the health of backends by name. Backends that Envoy does not have are missing.
func (c *Client) BackendHealth(ctx context.Context, backends []network.Backend) (map[string]BackendHealth, error) {
	b, err := c.get(ctx, "/stats?filter="+url.QueryEscape(membership))
	if err != nil {
		return nil, err
	}
	counters := map[string]int{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if n, err := strconv.Atoi(value); err == nil {
			counters[name] = n
		}
	}
	out := map[string]BackendHealth{}
	for _, backend := range backends {
		// Envoy replaces colons in the names of counters.
		prefix := "cluster." + strings.ReplaceAll(resources.ClusterName(backend), ":", "_") + ".membership_"
		if total, ok := counters[prefix+"total"]; ok {
			out[backend.Name] = BackendHealth{Endpoints: total, Healthy: counters[prefix+"healthy"]}
		}
	}
	return out, nil
}
