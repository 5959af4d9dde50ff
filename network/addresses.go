// This file holds addresses: those that edges hold, and ranges and prefixes of them.

package network

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
)

// EdgeAddresses returns the addresses of n.Edges, followed by the reserved ones.
func (n Network) EdgeAddresses() []netip.Addr {
	var out []netip.Addr
	for _, e := range n.Edges {
		out = append(out, e.Address)
	}
	return append(out, n.ReservedAddresses...)
}

// SharedAddresses returns the addresses in n's CIDR that each of its edges holds: the next-hop VIP, the service VIP,
// and published ones. Published addresses outside the CIDR are left out.
func (n Network) SharedAddresses() []netip.Addr {
	out := []netip.Addr{n.NextHopVIP, n.ServiceVIP}
	for _, a := range n.PublishedAddresses {
		if n.CIDR.Contains(a) && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// MaxEdges is the largest number of edges of a network. Each has a reserved address.
const MaxEdges = 2

// Roles returns the names of the addresses in annotation edge-addresses, in their order.
func Roles() []string {
	return []string{"next-hop VIP", "service VIP", "edge 1 address", "edge 2 address"}
}

// HeldAddresses returns the addresses of n's edges in its CIDR, in the order of annotation edge-addresses. They are the
// next-hop VIP, the service VIP, and the edge addresses with the reserved ones.
func (n Network) HeldAddresses() []netip.Addr {
	return append([]netip.Addr{n.NextHopVIP, n.ServiceVIP}, n.EdgeAddresses()...)
}

// InOrder returns addresses as annotation edge-addresses has them: in the given order, separated by commas without
// blanks.
func InOrder(all []netip.Addr) string { return joined(all, ",") }

// RoleOf returns the role of an address of the edges, as messages name it.
func (n Network) RoleOf(a netip.Addr) string {
	if i := slices.Index(n.HeldAddresses(), a); i >= 0 && i < len(Roles()) {
		return Roles()[i]
	}
	return "edge address"
}

// HostAddress returns the host address at a position in p: 1 is the first, -1 the last. It returns the zero Addr if p
// is not IPv4 or has no such position.
func HostAddress(p netip.Prefix, place int) netip.Addr {
	if !p.Addr().Is4() {
		return netip.Addr{}
	}
	size := int64(1) << (32 - p.Bits())
	at := int64(place)
	if place < 0 {
		at = size - 1 + int64(place)
	}
	if at < 1 || at > size-2 {
		return netip.Addr{}
	}
	return AddressOf(Number(p.Masked().Addr()) + uint32(at))
}

// Number returns the IPv4 address a as a big-endian integer, so that the address after a has the next integer.
func Number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// AddressOf returns the IPv4 address whose Number is n.
func AddressOf(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}

// A Range is a range of addresses, from First to Last inclusive.
type Range struct {
	First netip.Addr `json:"first"`
	Last  netip.Addr `json:"last"`
}

// Contains reports whether a is in r. An empty range contains nothing.
func (r Range) Contains(a netip.Addr) bool {
	return r.First.IsValid() && r.First.Compare(a) <= 0 && a.Compare(r.Last) <= 0
}

// String returns "first-last".
func (r Range) String() string { return r.First.String() + "-" + r.Last.String() }

// Short returns "first-last", or the address if there is only one.
func (r Range) Short() string {
	if r.First == r.Last {
		return r.First.String()
	}
	return r.String()
}

// Size returns the number of addresses in r, at most 2^31-1. It returns 0 unless r is IPv4.
func (r Range) Size() int {
	if !r.First.Is4() || !r.Last.Is4() || r.Last.Less(r.First) {
		return 0
	}
	return int(min(int64(Number(r.Last))-int64(Number(r.First))+1, math.MaxInt32))
}

// Inside reports whether a is a host address of p. The network and broadcast addresses are no host addresses.
func Inside(p netip.Prefix, a netip.Addr) bool {
	return p.Contains(a) && HostAddress(p, 1).Compare(a) <= 0 && a.Compare(HostAddress(p, -1)) <= 0
}

// Host returns the prefix of the single address a.
func Host(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

func (r Range) sizeWithout(holes []Range) int {
	n := 0
	for _, part := range r.Without(holes) {
		n += part.Size()
	}
	return n
}

// AnyContains reports whether one of the prefixes contains a.
func AnyContains(all []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
}

// MergedPrefixes returns the same addresses in the fewest prefixes, sorted. Without prefixes, it returns nil.
func MergedPrefixes(all []netip.Prefix) []netip.Prefix {
	all = slices.SortedFunc(slices.Values(all), func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	var out []netip.Prefix
	for _, p := range all {
		if len(out) > 0 && out[len(out)-1].Overlaps(p) {
			continue
		}
		out = append(out, p)
		for len(out) > 1 && p.Bits() > 0 {
			both := netip.PrefixFrom(p.Addr(), p.Bits()-1).Masked()
			if before := out[len(out)-2]; before.Bits() != p.Bits() || !both.Contains(before.Addr()) {
				break
			}
			out, p = append(out[:len(out)-2], both), both
		}
	}
	return out
}

// List returns addresses for messages: sorted, separated by commas.
func List(addresses []netip.Addr) string {
	return AddressList(slices.SortedFunc(slices.Values(addresses), netip.Addr.Compare))
}

// AddressList returns addresses for messages: in the given order, separated by commas.
func AddressList(addresses []netip.Addr) string { return joined(addresses, ", ") }

func joined(addresses []netip.Addr, separator string) string {
	return strings.Join(Texts(addresses), separator)
}

// Texts returns each value as text, in the given order.
func Texts[T fmt.Stringer](all []T) []string {
	var out []string
	for _, x := range all {
		out = append(out, x.String())
	}
	return out
}

// Without returns the parts of r that are in none of holes, sorted.
func (r Range) Without(holes []Range) []Range {
	if !r.First.IsValid() {
		return nil
	}
	var out []Range
	for _, h := range Merged(holes) {
		if h.Last.Less(r.First) || r.Last.Less(h.First) {
			continue
		}
		if r.First.Less(h.First) {
			out = append(out, Range{r.First, h.First.Prev()})
		}
		if !h.Last.Less(r.Last) {
			return out
		}
		r.First = h.Last.Next()
	}
	return append(out, r)
}

// Merged returns the same addresses in the fewest ranges, sorted.
func Merged(in []Range) []Range {
	var out []Range
	byFirst := func(a, b Range) int { return cmp.Or(a.First.Compare(b.First), a.Last.Compare(b.Last)) }
	for _, r := range slices.SortedFunc(slices.Values(in), byFirst) {
		if i := len(out) - 1; i >= 0 && r.First.Compare(out[i].Last.Next()) <= 0 {
			out[i].Last = Later(out[i].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Later returns the higher address.
func Later(a, b netip.Addr) netip.Addr {
	if a.Less(b) {
		return b
	}
	return a
}

// Earlier returns the lower address.
func Earlier(a, b netip.Addr) netip.Addr {
	if a.Less(b) {
		return a
	}
	return b
}

// Overlaps reports whether r and other have an address in common.
func (r Range) Overlaps(other Range) bool {
	return r.First.IsValid() && other.First.IsValid() && r.First.Compare(other.Last) <= 0 && other.First.Compare(r.Last) <= 0
}
