// This file finds where each setting of a network is set, and which values on its NetworkAttachmentDefinition have no
// effect.

package networks

import (
	"fmt"
	"slices"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// SettingSources returns where each setting of the given networks is set. The first key of the result is the Name of a
// network, the second an annotation key without prefix. The value is a text such as "annotation lease-time on NodePool
// workers". Settings that have their default are left out.
func SettingSources(o objects.Objects, all ...network.NetworkRequest) map[string]map[string]string {
	x, out := index(o), map[string]map[string]string{}
	for _, s := range all {
		out[s.Attachment.NetworkName()] = settingSources(x, s)
	}
	return out
}

func settingSources(o indexed, s network.NetworkRequest) map[string]string {
	out := map[string]string{}
	for _, k := range settings.Keys() {
		if !slices.Contains(k.On, settings.OnHostedCluster) || k.For != settings.WholeCluster && !k.IsSet(settings.OfNetwork(s)) {
			continue
		}
		if from := source(o, s, k); from != "" {
			out[k.Name] = from
		}
	}
	if out[network.KeyCIDR] == "" && s.CIDR.IsValid() && machineNetwork(o.HostedCluster) == s.CIDR {
		out[network.KeyCIDR] = fieldMachineNetwork
	}
	return out
}

// unusedOfNAD returns a problem for each value of the NetworkAttachmentDefinition of s that is not used, because
// another object sets a different value. Parameter own has the values of the NetworkAttachmentDefinition.
func unusedOfNAD(o indexed, s network.NetworkRequest, own settings.Values) problem.Problems {
	var out problem.Problems
	on := problem.Subject{Kind: string(settings.OnNetworkAttachmentDefinition), Namespace: s.Attachment.Namespace, Name: s.Attachment.Name}
	sources := settingSources(o, s)
	for _, k := range ofNetworkAttachmentDefinitions() {
		if value, used := k.Text(own), k.Text(settings.OfNetwork(s)); k.IsSet(own) && value != used {
			out = append(out, problem.New(problem.NADValueUnused, on,
				problem.Args{"network": {s.Attachment.String()}, "value": {value}, "otherValue": {used}, "source": {sources[k.Name]}}, k.Name))
		}
	}
	return out
}

// source returns the annotation that sets key k for s, or "" if there is none. The precedence is: a NodePool that
// lists the network first, the HostedCluster for that NodePool, the HostedCluster, the NetworkAttachmentDefinition.
// If k.NADFirst is true, the NetworkAttachmentDefinition has precedence over the HostedCluster.
func source(o indexed, s network.NetworkRequest, k settings.Key) string {
	hc, key := o.HostedCluster, k.Name
	for _, np := range o.first[named(s.Attachment)] {
		if _, ok := np.Annotations[settings.Prefix+key]; ok {
			return fmt.Sprintf("annotation %s on NodePool %s", key, np.Name)
		}
		if _, ok := hc.Annotations[settings.Prefix+key+"."+np.Name]; ok {
			return fmt.Sprintf("annotation %s.%s on the HostedCluster", key, np.Name)
		}
	}
	nad, _ := o.nad(s.Attachment)
	value, onNAD := nad.Annotations[settings.Prefix+key]
	onNAD = onNAD && applies(k, value, s)
	if value, ok := hc.Annotations[settings.Prefix+key]; ok && applies(k, value, s) && !(onNAD && k.NADFirst) {
		return fmt.Sprintf("annotation %s on the HostedCluster", key)
	}
	if onNAD {
		return fmt.Sprintf("annotation %s on the NetworkAttachmentDefinition", key)
	}
	return ""
}

// applies reports whether s uses value, which the HostedCluster or the NAD sets for k. It compares values only if k is
// for one network and both objects can have it. For other keys, it returns true.
func applies(k settings.Key, value string, s network.NetworkRequest) bool {
	return k.For != settings.OneNetwork || !slices.Contains(k.On, settings.OnNetworkAttachmentDefinition) || k.Says(value, settings.OfNetwork(s))
}
