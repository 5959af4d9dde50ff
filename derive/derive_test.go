package derive_test

import (
	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// given is what Derive is given of one cluster.
type given struct {
	network.Request
	network.Facts
}

// asking is a cluster that asks for networks with this many edges.
func asking(edges int, networks ...network.NetworkRequest) given {
	return given{Request: network.Request{Edges: edges, Networks: networks}}
}

// after is what in gets while last is in force, to apply or not.
func after(in given, last network.Plan, others ...derive.OtherCluster) (network.Plan, problem.Problems) {
	d := derive.Derive(in.Request, in.Facts, last, others)
	return d.Draft(), d.Problems
}

// derived is what in gets where nothing is in force.
func derived(in given) (network.Plan, problem.Problems) { return after(in, network.Plan{}) }
