// This file decides which part of which plan an edge serves, from the bytes of a
// file. It never guesses between several: it names the choices.

package edge

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

// A Selection names one edge. A zero field is allowed where there is one choice.
type Selection struct {
	// Cluster is "namespace/name", Network the name of a network of its plan.
	Cluster, Network string
	// Edge is the number of an edge, from 1.
	Edge int
}

// A View is what one edge serves.
type View struct {
	Cluster network.Cluster
	Network network.Network
	Edge    network.Edge
	// Endpoints of the plan: who asked for what.
	Endpoints []network.Endpoint
}

// ReadView picks what s names from data: a bare plan, or JSON lines as
// `oooi plan -o json` prints them. Errors are in words for the user.
func ReadView(data []byte, s Selection) (View, error) {
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
		return View{}, leftOutError{fmt.Errorf("cluster %s: %w", plan.Cluster, err)}
	}
	number := ""
	if s.Edge != 0 {
		number = strconv.Itoa(s.Edge)
	}
	e, err := choose("edge", number, n.Edges, func(e network.Edge) string { return strconv.Itoa(e.Number) })
	if err != nil {
		return View{}, leftOutError{fmt.Errorf("network %s: %w", n.Name, err)}
	}
	return View{Cluster: plan.Cluster, Network: n, Edge: e, Endpoints: plan.Endpoints}, nil
}

// A leftOutError says that a plan which could be served has not, or no longer, the
// network or the edge that was chosen.
type leftOutError struct{ error }

// readPlans reads every plan in data. Clusters that are refused have none and
// are left out, with what refuses them in the error where nothing is left.
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

// choose picks the one of all that is named, or the only one where none is.
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
		return none, fmt.Errorf("there is more than one %s: say --%s %s", what, what, strings.Join(names, "|"))
	}
	return none, fmt.Errorf("no %s %s: there is %s", what, name, strings.Join(names, ", "))
}
