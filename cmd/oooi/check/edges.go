// This file decides what is said about what each edge tries itself: it speaks TLS with the API server through its own proxy.

package check

import (
	"fmt"
	"strings"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/reported"
)

// edgeChecks are about the edges of n that are ready. Reports of other edges may be old.
func edgeChecks(n status.Network) (out []checked) {
	for _, e := range n.Edges {
		if e.Ready != explain.Yes {
			continue
		}
		c := checked{Name: fmt.Sprintf("from edge %d of %s", e.Number, n.Name), Verdict: warning, Page: command.Docs + "check.md#from-an-edge"}
		switch e.Level {
		case reported.LevelReaches:
			c.Verdict, c.Page = fine, ""
		case reported.LevelServes:
			c.Why = "It serves, but no API server answers through its proxy. Look at the backends in oooi status, and at the pod network of its node."
		case reported.LevelNothing:
			c.Why = strings.TrimSuffix("Its servers do not answer VMs. "+e.NotServing, " ") + " Look at the logs of its containers."
		default:
			c.Verdict, c.Why = unsure, "It has not reported recently what it reaches. Look at the log of its container failover."
		}
		out = append(out, c)
	}
	return out
}
