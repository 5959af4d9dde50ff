// This file decides whether a server of an edge reaches what it needs by the pod
// network, by the kernel's routes and the pod's own settings. It sends nothing.

package main

import (
	"net/netip"
	"os"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/dns"
)

// routes are the kernel's. Outside of a cluster they are the host's owner's, and
// none cuts anything off.
func (f *serverFlags) routes() (edge.Routes, error) {
	if !f.watch {
		return edge.Routes{}, nil
	}
	return edge.ReadRoutes("/", f.device)
}

// reaches is nil where the edge has not cut itself off from any of places, else
// why, in words.
func (f *serverFlags) reaches(n network.Network, places ...network.Place) error {
	r, err := f.routes()
	if err != nil {
		return err
	}
	return r.CutOff(n, f.device, places...)
}

// envAPI is where Kubernetes tells pods of its API.
const envAPI = "KUBERNETES_SERVICE_HOST"

func apiAddress() (netip.Addr, error) { return netip.ParseAddr(os.Getenv(envAPI)) }

// apiServer is where the pod is told that it is.
func apiServer() []network.Place {
	a, err := apiAddress()
	if err != nil {
		return nil
	}
	return []network.Place{address("the API server", a)}
}

// resolvers are those that the pod is told to ask.
func resolvers() []network.Place {
	text, err := os.ReadFile(resolvConf)
	if err != nil {
		return nil
	}
	var out []network.Place
	for _, s := range dns.ParseResolver(string(text)).Servers {
		out = append(out, address("the resolver", s.Addr()))
	}
	return out
}

// address is a place of one address.
func address(what string, a netip.Addr) network.Place {
	return network.Place{What: what, Prefix: netip.PrefixFrom(a, a.BitLen())}
}
