// This file holds which connections through the proxy are logged.

package network

import "slices"

// An AccessLog selects the connections that edges log when they end. Empty, and any value of a later
// format, means AccessLogFailures.
type AccessLog string

// The values of an AccessLog.
const (
	AccessLogNone AccessLog = "none"
	// AccessLogFailures logs connections that reached no backend, that edges ended, or that were reset
	// before an answer.
	AccessLogFailures AccessLog = "failures"
	AccessLogAll      AccessLog = "all"
)

// AccessLogs returns the values of an AccessLog.
func AccessLogs() []AccessLog {
	return []AccessLog{AccessLogNone, AccessLogFailures, AccessLogAll}
}

// Level is l with the default in place of an empty or unknown value.
func (l AccessLog) Level() AccessLog {
	if slices.Contains(AccessLogs(), l) {
		return l
	}
	return AccessLogFailures
}

// logConnections is p with the AccessLog that r asks for on each network that runs the proxy. Retained
// networks are among them.
func (p Plan) logConnections(r Request) Plan {
	return p.withEach(func(n *Network) {
		n.AccessLog = ""
		if n.runs(ServiceProxy) {
			n.AccessLog = r.AccessLog
		}
	})
}
