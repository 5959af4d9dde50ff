// This file decides which edges `oooi access` uses: those of a hosted cluster that are Ready and have an access proxy. Edges
// that failed recently are tried last.

package localaccess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/access/dial"
	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

var accessPage = command.Docs + "management-access.md"

const (
	// edgeReachedWithin limits the time in which the API server must connect to an edge.
	edgeReachedWithin = 5 * time.Second
	// edgeAnswersWithin limits the time in which an edge must answer. An edge dials a destination for at most 3 seconds.
	edgeAnswersWithin = 5 * time.Second
	// failedFor is the time during which a failed edge is tried only after all others. If the edge answers, this time
	// ends.
	failedFor = time.Minute
)

type accessEdge struct {
	pod string
	// network is the value of the network's label (see wire.NetworkLabel).
	network string
	// port is the port of the access proxy on the loopback device of the pod.
	port  uint16
	ready bool
}

// accessEdges returns those edges in parameter pods that have an access proxy, sorted by the name of the pod.
func accessEdges(pods []corev1.Pod) (out []accessEdge) {
	for _, p := range pods {
		if p.DeletionTimestamp != nil {
			continue
		}
		for _, c := range p.Spec.Containers {
			i := slices.IndexFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == wire.AccessPortName })
			if c.Name != wire.Access || i < 0 {
				continue
			}
			ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			})
			out = append(out, accessEdge{pod: p.Name, network: p.Labels[wire.LabelNetwork], port: uint16(c.Ports[i].ContainerPort), ready: ready})
		}
	}
	slices.SortFunc(out, func(a, b accessEdge) int { return strings.Compare(a.pod, b.pod) })
	return out
}

// usable returns the edges in parameter all that are Ready and on the network in parameter on. If on is empty, it
// selects every network. Parameter pods is the number of edges with or without an access proxy. An error says why no
// edge is usable, and what to do.
func usable(name client.ObjectKey, pods int, all []accessEdge, on string) (out []accessEdge, err error) {
	var networks []string
	for _, e := range all {
		if networks = append(networks, e.network); e.ready && (on == "" || on == e.network) {
			out = append(out, e)
		}
	}
	slices.Sort(networks)
	networks = slices.Compact(networks)
	switch {
	case pods == 0:
		return nil, fmt.Errorf("HostedCluster %s has no edges. oooi status %s shows why", name, name)
	case len(all) == 0:
		return nil, fmt.Errorf("HostedCluster %s opens no destination. Set its annotation %s%s, such as to nodes:22,nodes:10250. See %s",
			name, settings.Prefix, network.KeyAccess, accessPage)
	case on != "" && !slices.Contains(networks, on):
		return nil, fmt.Errorf("--network %s: none of its edges has an access proxy. Networks whose edges have one: %s", on, strings.Join(networks, ", "))
	case len(out) == 0:
		return nil, fmt.Errorf("no edge of HostedCluster %s is Ready. oooi status %s shows why", name, name)
	}
	return out, nil
}

// An edgePool opens tunnels through the edges of a hosted cluster. It is safe for concurrent use.
type edgePool struct {
	// find returns the edges that are usable now, at least one, or an error.
	find func(ctx context.Context) ([]accessEdge, error)
	// reach opens a connection to the access proxy of an edge.
	reach func(ctx context.Context, e accessEdge) (net.Conn, error)
	// Function left reports that a tunnel was opened through edge used, after the edges in parameter failed have
	// failed. Nil: nothing is reported.
	left func(failed []accessEdge, why error, used accessEdge)

	mu sync.Mutex
	// edges is the last result of find.
	edges []accessEdge
	// failed contains the time of each edge's last failure, by pod. Edges that have answered since are removed.
	failed map[string]time.Time
}

func (p *edgePool) load(ctx context.Context) error {
	edges, err := p.find(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.edges = edges
	return nil
}

// inOrder returns p.edges in the order in which they are tried. Edges that failed recently come last, and of these the one
// that failed most recently.
func (p *edgePool) inOrder() []accessEdge {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.failed, func(_ string, at time.Time) bool { return time.Since(at) >= failedFor })
	out := slices.Clone(p.edges)
	slices.SortStableFunc(out, func(a, b accessEdge) int {
		return cmp.Or(p.failed[a.pod].Compare(p.failed[b.pod]), cmp.Compare(a.network, b.network))
	})
	return out
}

func (p *edgePool) networks() (out []string) {
	for _, e := range p.inOrder() {
		if !slices.Contains(out, e.network) {
			out = append(out, e.network)
		}
	}
	return out
}

func (p *edgePool) answers(e accessEdge, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = map[string]time.Time{}
	}
	p.failed[e.pod] = time.Now()
	if ok {
		delete(p.failed, e.pod)
	}
}

func (p *edgePool) next(network string, tried []accessEdge) (accessEdge, bool) {
	for _, e := range p.inOrder() {
		if e.network == network && !slices.ContainsFunc(tried, func(x accessEdge) bool { return x.pod == e.pod }) {
			return e, true
		}
	}
	return accessEdge{}, false
}

var errNoEdge = errors.New("no edge of the network is Ready")

// open opens a tunnel to address through the first network that opens this destination. If no edge of network A answers,
// and other networks refuse, open returns the error of network A, which may open the destination.
func (p *edgePool) open(ctx context.Context, d dial.Dialer, address string) (tunnel, error) {
	var lost, closed error
	for _, network := range p.networks() {
		t, err := p.openOn(ctx, network, d, address)
		if err == nil || ctx.Err() != nil {
			return t, err
		}
		var refused *dial.RefusedError
		switch isRefused := errors.As(err, &refused); {
		case isRefused && refused.Status == 403:
			if closed == nil || refused.Reason == dial.NoVM { // NoVM is more specific: this network opens the port.
				closed = err
			}
		case !isRefused && anotherMayDo(err):
			lost = cmp.Or(lost, err)
		default:
			return tunnel{}, err
		}
	}
	return tunnel{}, cmp.Or(lost, closed, errNoEdge)
}

// openOn opens a tunnel through an edge of network. It tries the edges in p.edges, and then any further edges that find
// returns.
func (p *edgePool) openOn(ctx context.Context, network string, d dial.Dialer, address string) (tunnel, error) {
	var tried []accessEdge
	var why error
	for found := false; ; {
		e, ok := p.next(network, tried)
		if !ok {
			if found {
				return tunnel{}, cmp.Or(why, errNoEdge)
			}
			if err := p.load(ctx); err != nil && why != nil {
				return tunnel{}, fmt.Errorf("%w. %w", why, err)
			} else if err != nil {
				return tunnel{}, err
			}
			found = true
			continue
		}
		t, err := p.through(ctx, e, d, address)
		if err == nil {
			p.answers(e, true)
			if len(tried) > 0 && p.left != nil {
				p.left(tried, why, e)
			}
			return t, nil
		}
		another := anotherMayDo(err)
		if ctx.Err() == nil {
			p.answers(e, !another)
		}
		if ctx.Err() != nil || !another {
			return tunnel{}, err
		}
		tried, why = append(tried, e), err
	}
}

func (p *edgePool) through(ctx context.Context, e accessEdge, d dial.Dialer, address string) (t tunnel, err error) {
	d.Proxy = "of edge " + e.pod
	d.Forward = func(ctx context.Context, _, _ string) (net.Conn, error) {
		reach, cancel := context.WithTimeout(ctx, edgeReachedWithin)
		defer cancel()
		c, err := p.reach(reach, e)
		if o, ok := c.(interface{ Over() <-chan struct{} }); ok && err == nil {
			t.over = o.Over()
		}
		return c, err
	}
	limited, cancel := context.WithTimeout(ctx, edgeReachedWithin+edgeAnswersWithin)
	defer cancel()
	if t.Conn, err = d.DialContext(limited, "tcp", address); err != nil {
		return tunnel{}, err
	}
	return t, nil
}

// errForbidden is wrapped by errors about missing rights of the user.
var errForbidden = errors.New("you may not")

// anotherMayDo reports whether another edge may open the tunnel after err. Refusals are equal at all edges of a network,
// except those with status 503: an edge has reached its limits.
func anotherMayDo(err error) bool {
	var refused *dial.RefusedError
	if errors.As(err, &refused) {
		return refused.Status == 503
	}
	return !errors.Is(err, dial.ErrToken) && !errors.Is(err, errForbidden)
}
