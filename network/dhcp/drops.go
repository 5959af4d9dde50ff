// This file names why a message or a reply is dropped. docs/metrics.md explains each reason to operators.

package dhcp

import "github.com/cldmnky/oooi/network/metrics"

// A drop is why a message or a reply was dropped. Empty: it was not.
type drop string

const (
	dropReceive       drop = "receive"
	dropQueue         drop = "queue"
	dropBeyondGateway drop = "beyond-gateway"
	dropNotForUs      drop = "not-addressed-to-us"
	dropMalformed     drop = "malformed"
	dropProbe         drop = "probe"
	dropForOthers     drop = "inform-for-others"
	dropBusy          drop = "busy"
	dropReads         drop = "reads"
	dropWrites        drop = "writes"
	dropUnknown       drop = "unknown-clients"
	dropInform        drop = "inform"
	dropRemovals      drop = "removals"
	dropSendBuffer    drop = "send-buffer"
	dropSend          drop = "send"
)

// drops counts a message or a reply that is dropped.
func (m *Metrics) drops(why drop) { m.Counter(metrics.DHCPDropped).WithLabelValues(string(why)).Inc() }
