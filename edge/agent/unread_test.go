package agent

import (
	"errors"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/source"
	"github.com/cldmnky/oooi/network"
)

// TestWhatCannotBeReadClosesNothing: the kernel does not tell its routes or addresses for a moment. What is
// served goes on, an address that was not served waits, and the edge says why it is not ready.
func TestWhatCannotBeReadClosesNothing(t *testing.T) {
	g := NewWithT(t)
	unread := Unread{errors.New("netlink: no buffer space available")}
	v := source.View{Network: proxied(blue(), 443, 6443)}
	fine := func(netip.Addr) error { return nil }
	last := Admit(v, CutOff{}, fine)
	g.Expect(last.Network.Listeners).To(HaveLen(2))

	kept := Keep(last, v, unread)
	g.Expect(kept.Same(last)).To(BeTrue())
	g.Expect(kept.Missing).To(MatchError(unread))

	more := v
	more.Network.Listeners = append([]network.Listener{{Address: netip.MustParseAddr("192.168.100.99"), Port: 443, Default: v.Network.Listeners[0].Default}}, v.Network.Listeners...)
	kept = Keep(last, more, unread)
	g.Expect(listenerNames(kept.Network)).To(Equal(listenerNames(v.Network)))
	g.Expect(kept.Missing).To(MatchError(unread))

	nothing := Keep(Admission{}, v, unread)
	g.Expect(nothing.Read).To(BeFalse(), "nothing is decided")
	g.Expect(nothing.Same(Refuse(v, unread))).To(BeFalse(), "what is known later is served")
	g.Expect(kept.Read).To(BeTrue())
}

// TestAnInterfaceThatIsGoneIsKnown: its listeners close, since sockets do not follow to the next one.
func TestAnInterfaceThatIsGoneIsKnown(t *testing.T) {
	g := NewWithT(t)
	_, err := Interface{Name: "none", InPod: true}.Routes()
	g.Expect(err).To(MatchError(ContainSubstring("no such network interface")))
	g.Expect(errors.As(err, new(Unread))).To(BeFalse())
}
