package hcp_test

import (
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// message returns the text that users read for p.
func message(p network.Problem) string { return explain.Problem(p).String() }
