// This file reads facts about the management cluster from the operator's own pod: its environment variables, its
// resolv.conf, and the names of kinds.

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

// managementCluster returns the resolvers in file, a resolv.conf, and the API server's address from the environment. Outside
// a cluster, it returns no address.
func managementCluster(file string) (management.Cluster, error) {
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

// vmResource returns the resource name that edges use for VirtualMachineInstances. Empty: KubeVirt's own name.
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
