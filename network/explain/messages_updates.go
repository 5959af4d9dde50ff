// This file has the messages: edges that wait for another release of oooi.

package explain

import "github.com/cldmnky/oooi/network"

func updateMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.UpdateWaits: {
			What: "The edges run another release of oooi than the operator, which updates hosted clusters in waves. Wave {wave} of {waves} " +
				"is in progress.",
			Effect: "The edges serve as before until it is the turn of this cluster.",
		},
		network.UpdateStopped: {
			What:   "The edges run another release of oooi than the operator. The update is stopped, because edges of other clusters fail with it.",
			Effect: "The edges serve as before.",
			Fix: "Administrators: the operator's log names the clusters that fail. The update goes on when their edges are ready, or when " +
				"these clusters are paused.",
		},
	}
}
