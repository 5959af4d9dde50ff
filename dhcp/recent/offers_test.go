package recent

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestOffersAreBounded: clients that invent MACs and request no address use bounded memory. Earlier offers stay known, and later, new
// offers are stored again.
func TestOffersAreBounded(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	var o Offers
	flood := func(from int) {
		for i := from; i < from+3*maxOffers; i++ {
			o.Add(network.AddressOf(10<<24+uint32(i)), fmt.Sprint("mac ", i), now)
			if kept := len(o.current) + len(o.former); kept > 2*maxOffers {
				t.Fatalf("%d offers are kept", kept)
			}
		}
	}
	first := network.AddressOf(10 << 24)
	flood(0)
	g.Expect(o.To(first, now)).To(Equal("mac 0"))
	o.Add(first, "mac of another client", now)
	g.Expect(o.To(first, now)).To(Equal("mac 0"), "no room for a change")
	now = now.Add(offerTime)
	g.Expect(o.To(first, now)).To(Equal("mac 0"), "it is remembered for that time at least")
	flood(3 * maxOffers)
	g.Expect(o.To(network.AddressOf(10<<24+3*maxOffers), now)).To(Equal(fmt.Sprint("mac ", 3*maxOffers)))
	now = now.Add(offerTime)
	g.Expect(o.To(first, now)).To(BeEmpty())
	o.Remove(network.AddressOf(10<<24 + 3*maxOffers))
	g.Expect(o.To(network.AddressOf(10<<24+3*maxOffers), now)).To(BeEmpty())
}
