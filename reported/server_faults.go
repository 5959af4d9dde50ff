// This file has ServerFault: why one server of an edge does not serve.

package reported

import (
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A ServerFault is why one server does not serve.
type ServerFault struct {
	Server network.Service `json:"server"`
	// Cause is ServerStopped, ServerSilent or ServerRefuses.
	Cause problem.Cause `json:"cause"`
	// Error is what the server itself says. Only ServerRefuses has an Error.
	Error string `json:"error,omitempty"`
}

// normalizedFaults returns at most one fault of each server, with only the values of its cause. An unknown cause, as a
// newer edge may report, becomes ServerRefuses.
func normalizedFaults(all []ServerFault) (out []ServerFault) {
	for _, s := range network.AllServices() {
		i := slices.IndexFunc(all, func(f ServerFault) bool { return f.Server == s })
		if i < 0 {
			continue
		}
		switch f := all[i]; f.Cause {
		case problem.ServerStopped, problem.ServerSilent:
			out = append(out, ServerFault{Server: s, Cause: f.Cause})
		case problem.ServerRefuses:
			out = append(out, ServerFault{s, f.Cause, phrase(f.Error)})
		default:
			out = append(out, ServerFault{s, problem.ServerRefuses, phrase(string(f.Cause) + " " + f.Error)})
		}
	}
	return out
}
