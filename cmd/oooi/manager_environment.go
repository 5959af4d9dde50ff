// This file reads what the operator knows of the cluster that it runs on, where
// every pod of that cluster can: its environment and its resolver. It decides
// nothing about networks.

package main

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network/resolvconf"
)

// surroundings are the resolvers in file and the API server in the environment.
// Outside of a cluster nothing is known of the latter.
func surroundings(file string) (hcp.Management, error) {
	var m hcp.Management
	text, err := os.ReadFile(file)
	if err != nil {
		return m, fmt.Errorf("reading which resolver edges will ask: %w", err)
	}
	for _, s := range resolvconf.Parse(string(text)).Servers {
		m.Resolvers = append(m.Resolvers, s.Addr().Unmap())
	}
	if a, err := netip.ParseAddr(os.Getenv(wire.APIServerVariable)); err == nil {
		m.APIServers = append(m.APIServers, a.Unmap())
	}
	return m, nil
}
