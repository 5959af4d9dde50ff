// This file drops frames on a segment, so that a device has its carrier and yet does not
// hear or is not heard. It needs nft.

package netns

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// DropTo drops the frames on their way to n's device that match, an expression of nft
// ("udp dport 53"). An empty one matches all. The device does not see them, its counters
// neither. They pass again after end.
func (s *Segment) DropTo(t testing.TB, n *Namespace, device, match string) (end func()) {
	t.Helper()
	return s.drop(t, n, device, "egress", match)
}

// DropFrom is like DropTo for the frames that n's device sends.
func (s *Segment) DropFrom(t testing.TB, n *Namespace, device, match string) (end func()) {
	t.Helper()
	return s.drop(t, n, device, "ingress", match)
}

// drop drops frames that leave the segment's end of a cable (egress) or enter it (ingress).
func (s *Segment) drop(t testing.TB, n *Namespace, device, hook, match string) (end func()) {
	t.Helper()
	s.drops++
	table := fmt.Sprintf("netdev %s-drop%d", s.bridge, s.drops)
	must(t, s.nft(fmt.Sprintf("table %s {\nchain frames { type filter hook %s device %q priority 0;\n%s drop\n}\n}\n",
		table, hook, s.cables[cable{n.Name, device}], match)))
	return func() { t.Helper(); must(t, s.nft("delete table "+table+"\n")) }
}

func (s *Segment) nft(script string) error {
	c := exec.Command("ip", "netns", "exec", s.ns.Name, "nft", "-f", "-")
	c.Stdin = strings.NewReader(script)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	return nil
}
