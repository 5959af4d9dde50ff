// This file reads what the operator knows about the cluster that it runs on, where
// every pod of that cluster can: its environment, its resolver and the names of kinds. It decides
// nothing about networks.

package main

import (
	"fmt"
	"net/netip"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/apirewrite"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/network/resolvconf"
)

// surroundings are the resolvers in file and the API server in the environment.
// Outside of a cluster nothing is known of the latter.
func surroundings(file string) (management.Cluster, error) {
	var m management.Cluster
	text, err := os.ReadFile(file)
	if err != nil {
		return m, fmt.Errorf("reading the resolver of edges: %w", err)
	}
	for _, s := range resolvconf.Parse(string(text)).Servers {
		m.Resolvers = append(m.Resolvers, s.Addr().Unmap())
	}
	if a, err := netip.ParseAddr(os.Getenv(wire.APIServerVariable)); err == nil {
		m.APIServers = append(m.APIServers, a.Unmap())
	}
	return m, nil
}

// vmResource is the API server's name of VirtualMachineInstances, for edges. Empty: it is KubeVirt's own.
func vmResource(rules *apirewrite.Rules) string {
	if rules == nil {
		return ""
	}
	own := schema.GroupResource{Group: wire.KubeVirtGroup, Resource: "virtualmachineinstances"}
	group, plural := rules.Resource(own.Group, own.Resource)
	if server := (schema.GroupResource{Group: group, Resource: plural}); server != own {
		return server.String()
	}
	return ""
}
