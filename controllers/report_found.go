// This file decides which problems have an Event when they begin. The condition has one Event
// for its reason only, and these problems begin while that stays.

package controllers

import (
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// A found identifies a problem for as long as it goes on, whatever its counts.
type found struct {
	reason                  network.Reason
	network, edge, mac, who string
}

// foundIn are the problems of ps that edges find on their networks, each once.
func foundIn(ps network.Problems) []found {
	var out []found
	for _, p := range ps {
		switch p.Reason {
		case network.AddressesExhausted, network.AddressInUse, network.LeasesNotWritten, network.RogueDHCPServer:
		default:
			continue
		}
		if f := foundOf(p); !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

func foundOf(p network.Problem) found {
	f := found{reason: p.Reason, network: p.Args["network"], edge: p.Args["edge"], mac: p.Args["mac"]}
	if f.mac == "" {
		f.who = p.Args["address"]
	}
	return f
}

// newlyFound are the problems of v that edges found after those in before. What an Event of
// reason told has said is left out.
func newlyFound(v verdict, before []found, told network.Reason) network.Problems {
	var out network.Problems
	seen := slices.Clone(before)
	for _, p := range v.problems {
		f := foundOf(p)
		if !slices.Contains(foundIn(network.Problems{p}), f) || slices.Contains(seen, f) {
			continue
		}
		seen = append(seen, f)
		if p.Reason != told {
			out = append(out, p)
		}
	}
	return out
}

// namedFound are those of all whose reason a condition's message has.
func namedFound(message string, all []found) []found {
	return slices.DeleteFunc(slices.Clone(all), func(f found) bool { return !strings.Contains(message, " "+string(f.reason)+": ") })
}
