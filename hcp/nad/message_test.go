package nad_test

import (
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// message is what a person reads of p.
func message(p network.Problem) string { return explain.Problem(p).String() }
