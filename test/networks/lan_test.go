// This file is a network on the nodes' own devices: the CNI plugins bridge and macvlan.

package networks

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/cldmnky/oooi/test/netns"
)

// A lan is an Ethernet segment that all nodes are on.
type lan struct {
	t       *testing.T
	kind    string
	segment *netns.Segment
	nodes   map[string]*netns.Namespace
}

func newLAN(t *testing.T, kind string) *lan {
	t.Helper()
	w := &lan{t: t, kind: kind, segment: netns.NewSegment(t), nodes: map[string]*netns.Namespace{}}
	for _, name := range nodes() {
		node := netns.New(t)
		w.segment.Attach(t, node, uplink, "")
		if kind == "bridge" {
			node.Run(t, "ip", "link", "add", "br1", "type", "bridge")
			node.Run(t, "ip", "link", "set", uplink, "master", "br1")
			node.Run(t, "ip", "link", "set", "br1", "up")
		}
		w.nodes[name] = node
	}
	return w
}

func (w *lan) config() string {
	link := map[string]string{"bridge": `"bridge":"br1"`, "macvlan": `"master":"` + uplink + `"`}[w.kind]
	return fmt.Sprintf(`{"cniVersion":"1.0.0","name":"tenant","type":%q,%s}`, w.kind, link)
}

func (w *lan) node(name string) *netns.Namespace { return w.nodes[name] }

// join plugs a VM into the segment. Pods join by CNI plugins alone.
func (w *lan) join(ns *netns.Namespace, _, device, mac string, _ []netip.Prefix) (forget func()) {
	w.t.Helper()
	w.segment.Attach(w.t, ns, device, mac)
	return func() {}
}

// answersWith is empty: only hosts answer.
func (w *lan) answersWith(string, string) []string { return nil }

func (w *lan) lose(node string) { w.segment.Pull(w.t, w.nodes[node], uplink) }
