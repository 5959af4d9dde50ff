// This file has what the documentation and `oooi explain` say about a reason for all clusters.

package explain

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network/problem"
)

// A TrueReason is a reason of a condition that is True.
type TrueReason struct {
	Reason  problem.Reason
	Meaning string
}

// TrueReasons returns the reasons that only a True condition has, and no problem.
func TrueReasons() []TrueReason {
	return []TrueReason{
		{Ready, "oooi serves everything that the annotations request"},
		{ReadyWithWarnings, "oooi serves everything; the message lists what VMs lack, or says that a second edge is missing"},
	}
}

// General returns the message for all problems of e. show returns what a reader calls an argument: "other CIDR" for
// {otherCIDR}. Fix is never empty.
func General(e problem.Entry, show func(argument string) string) Message {
	readable := func(template string) string {
		return placeholder.ReplaceAllStringFunc(template, func(p string) string { return show(argumentName(strings.Trim(p, "{}"), e)) })
	}
	none := "No action is needed."
	if e.Severity == problem.SeverityUnknown {
		none = "Remove the cause, and check again."
	}
	return Message{What: readable(e.What), Effect: readable(e.Effect), Fix: readable(cmp.Or(e.Fix, none))}
}

var placeholder = regexp.MustCompile(`\{\w+\}`)

func argumentName(arg string, c problem.Entry) string {
	switch {
	case arg == "subject":
		return c.Subject
	case arg == "vms" && slices.Contains([]problem.Cause{problem.AddressKeptByVM, problem.AddressSharedByVMs, problem.VMsOutsideCIDR}, c.Cause):
		return "names of VMs"
	case arg == "other":
		return cmp.Or(map[problem.Cause]string{
			problem.NADDuplicatesRunning: "other network", problem.OneClockUnsynchronized: "other edge", problem.AccessPortRepeated: "other entry",
			problem.NADOfOtherBridge: "other bridge", problem.LDAPServersApart: "other servers",
			problem.LoadBalancerPortShared: "other Service", problem.JoinSubnetsDiffer: "other CIDR", problem.PathDiffers: "other router",
		}[c.Cause], "other destination")
	}
	if name, ok := argumentNames()[arg]; ok {
		return name
	}
	return strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(arg, "$1 $2"))
}

func argumentNames() map[string]string {
	return map[string]string{
		"allowed": "allowed namespaces", "at": "host and port", "by": "other endpoint", "cidr": "CIDR",
		"layer2": "layer-2 network", "mac": "MAC", "meant": "similar name", "given": "other names", "named": "namespace and name", "most": "maximum", "nad": "NAD", "newKey": "new key", "newVMs": "names of VMs",
		"nextHop": "next-hop VIP", "serviceVIP": "service VIP", "arpAnnounce": "value", "nodePool": "NodePool", "nodePools": "NodePools", "otherCIDR": "other CIDR",
		"otherNAD": "other NAD", "otherNodePool": "other NodePool", "role": "role of the address", "vm": "VM",
		"vms": "number of VMs", "want": "valid value", "wanted": "new value", "where": "field or annotation",
	}
}
