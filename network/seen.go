// This file decides which problems follow from what edges see of each other where
// they run. It never decides what an edge does.

package network

import "fmt"

// SiblingLost is what a Report says of a sibling of which nothing is heard.
const SiblingLost = "lost"

// EdgesApart says that edge of n does not hear the other one, though both serve. It
// never blocks: machines are served by whichever they are at.
func (n Network) EdgesApart(edge int) Problem {
	return Problem{Reason: EdgesApart, Field: fmt.Sprintf("edge %d of network %s", edge, n.Attachment), Detail: fmt.Sprintf(
		"both edges of network %s serve, but edge %d does not hear the other one on the VLAN. Either one is on a node without this VLAN, where no machine reaches it, or the switch keeps the two apart (a private VLAN, an access list). "+
			"Until they hear each other (UDP port 7788), nobody takes over at once: machines may notice only after 40 to 50 s that an edge is lost. Look at which nodes they are on and at the VLAN on the ports of these; edge-node-selector keeps edges to nodes that have it.",
		n.Attachment, edge)}
}
