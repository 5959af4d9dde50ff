// This file selects the part of a plan that an edge serves. It never guesses: the error
// lists the choices.

package inforce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// A Selection names one edge. A field may be zero if there is only one choice.
type Selection struct {
	// Cluster is "namespace/name", Network the name of a network of its plan.
	Cluster, Network string
	// Edge is the number of an edge, starting at 1.
	Edge int
}

// A View is what one edge serves.
type View struct {
	Cluster network.Cluster
	Network network.Network
	Edge    network.Edge
	// Endpoints are the endpoints of the plan, with the origin of each.
	Endpoints []network.Endpoint
}

// Read selects s from data: a single plan, or JSON lines of `oooi plan -o json`. Errors are
// for the user.
func Read(data []byte, s Selection) (View, error) {
	plans, err := readPlans(data)
	if err != nil {
		return View{}, err
	}
	plan, err := choose("cluster", s.Cluster, plans, func(p network.Plan) string { return p.Cluster.String() })
	if err != nil {
		return View{}, err
	}
	if err := plan.Validate(); err != nil {
		return View{}, fmt.Errorf("the plan of %s: %w", plan.Cluster, err)
	}
	n, err := choose("network", s.Network, plan.Networks, func(n network.Network) string { return n.Name })
	if err != nil {
		return View{}, removedError{fmt.Errorf("cluster %s: %w", plan.Cluster, err)}
	}
	number := ""
	if s.Edge != 0 {
		number = strconv.Itoa(s.Edge)
	}
	e, err := choose("edge", number, n.Edges, func(e network.Edge) string { return strconv.Itoa(e.Number) })
	if err != nil {
		return View{}, removedError{fmt.Errorf("network %s: %w", n.Name, err)}
	}
	return View{Cluster: plan.Cluster, Network: n, Edge: e, Endpoints: plan.Endpoints}, nil
}

// A removedError reports that a valid plan does not have the chosen network or edge.
type removedError struct{ error }

// readPlans returns every plan in data. Refused clusters have none. If no plan is left, the
// error lists the reasons.
func readPlans(data []byte) ([]network.Plan, error) {
	var plans []network.Plan
	var refused []string
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var line struct {
			network.Plan
			Cluster  json.RawMessage                   `json:"cluster"`
			Planned  *network.Plan                     `json:"plan"`
			Problems []struct{ Reason, Detail string } `json:"problems"`
		}
		err := d.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not a plan: %w", err)
		}
		switch {
		case line.Planned != nil:
			plans = append(plans, *line.Planned)
		case line.Networks != nil:
			if err := json.Unmarshal(line.Cluster, &line.Plan.Cluster); err != nil {
				return nil, fmt.Errorf("not a plan: %w", err)
			}
			plans = append(plans, line.Plan)
		default:
			for _, p := range line.Problems {
				refused = append(refused, fmt.Sprintf("%s: %s: %s", line.Cluster, p.Reason, p.Detail))
			}
		}
	}
	if len(plans) == 0 && len(refused) > 0 {
		return nil, fmt.Errorf("no plan to serve: %s", strings.Join(refused, "; "))
	}
	return plans, nil
}

// choose returns the element named name. If name is empty it returns the only element.
func choose[T any](what, name string, all []T, nameOf func(T) string) (T, error) {
	var names []string
	for _, x := range all {
		if nameOf(x) == name || name == "" && len(all) == 1 {
			return x, nil
		}
		names = append(names, nameOf(x))
	}
	var none T
	if len(all) == 0 {
		return none, fmt.Errorf("no %s in the plan", what)
	}
	if name == "" {
		return none, fmt.Errorf("there is more than one %s: set --%s to %s", what, what, strings.Join(names, "|"))
	}
	return none, fmt.Errorf("no %s %s: there is %s", what, name, strings.Join(names, ", "))
}
