// This file decides what is said about the results of the pod that acts as a VM: what to do, and where that is explained.

package check

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/network"
)

// A trialPage is what to do about a trial that is not ok, and the page that has it in full.
type trialPage struct{ fix, page string }

// trialsPage is about trials of an unknown kind.
var trialsPage = command.Docs + "check.md#from-the-network"

var trialPages = map[network.TrialKind]trialPage{
	network.TrialDHCP:     {"Look for other DHCP servers on the VLAN, and at the leases in oooi status.", command.Docs + "check.md#dhcp"},
	network.TrialName:     {"Look at the logs of container dns of the edges, and for another host with the address.", command.Docs + "check.md#a-name"},
	network.TrialTime:     {"Look at the clocks of the nodes that edges run on.", command.Docs + "check.md#the-time"},
	network.TrialEndpoint: {"Look at the backend's line in oooi status, then at its pods.", command.Docs + "check.md#a-backend"},
	network.TrialRefused:  {"Look for another host with the address, and restart the edges.", command.Docs + "check.md#what-must-not-answer"},
	network.TrialIsolated: {"Find the router or the firewall on the VLAN that forwards it.", command.Docs + "check.md#isolation"},
	network.TrialOwner:    {"Remove the address from that host.", command.Docs + "check.md#a-vip"},
	network.TrialFailover: {"Look at the logs of container failover of both edges.", command.Docs + "check.md#failover"},
}

// lineOf is the line about one result.
func lineOf(r network.TrialResult) checked {
	c := checked{Name: r.Name, Verdict: outcome(r.Verdict), Why: r.Why, aside: r.Aside}
	page, known := trialPages[r.Kind]
	if !known {
		page.page = trialsPage
	}
	switch c.Verdict {
	case fine:
		return c
	case warning, failure:
		if page.fix != "" {
			c.Why += " " + page.fix
		}
	default:
		c.Verdict = unsure // Also of a newer version.
	}
	c.Page = page.page
	return c
}

// readTrials reads what the pod printed.
func readTrials(text []byte) (out []checked, err error) {
	var results []network.TrialResult
	for line := range bytes.Lines(text) {
		if json.Unmarshal(line, &results) == nil {
			break
		}
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("the pod printed no results: %.200q", text)
	}
	for _, r := range results {
		out = append(out, lineOf(r))
	}
	return out, nil
}

// readTrialStart reads what the pod printed before its results. Zero: nothing yet.
func readTrialStart(text []byte) (start network.TrialStart) {
	for line := range bytes.Lines(text) {
		if json.Unmarshal(line, &start) == nil && start.Uses != "" {
			break
		}
	}
	return start
}
