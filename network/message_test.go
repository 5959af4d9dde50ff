package network_test

import (
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// keysOf are p's keys in a row.
func keysOf(p network.Problem) string { return strings.Join(p.Keys, ", ") }

// message is what a person reads of p.
func message(p network.Problem) string { return explain.Problem(p).String() }
