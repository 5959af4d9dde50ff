package nad_test

import (
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network/problem"
)

// message returns the text that users read for p.
func message(p problem.Problem) string { return explain.Problem(p).String() }
