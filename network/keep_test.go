package network_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestKeeping: what runs goes on as it was while somebody wants it, and only
// then.
func TestKeeping(t *testing.T) {
	g := NewWithT(t)
	last := network.Plan{Networks: []network.Network{{Name: "a.old", Primary: true, Attachment: network.Attachment{Namespace: "a", Name: "old"}}}}
	now := network.Plan{Networks: []network.Network{{Name: "a.new", Primary: true, Attachment: network.Attachment{Namespace: "a", Name: "new"}}}}

	kept := now.Keeping(last, map[string]bool{"a.old": true, "a.new": true})
	g.Expect(kept.Networks).To(HaveExactElements(now.Networks[0], last.Networks[0]))
	g.Expect(now.Networks).To(HaveLen(1), "plans are values")

	g.Expect(now.Keeping(last, map[string]bool{"a.new": true}).Networks).To(HaveExactElements(now.Networks[0]))
	g.Expect(now.Keeping(now, map[string]bool{"a.new": true}).Networks).To(HaveLen(1), "what is decided anew is not kept beside itself")
}
