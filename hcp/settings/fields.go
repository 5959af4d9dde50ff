// This file reads, compares and copies the field of Values that belongs to a row of the table.

package settings

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// IsSet reports whether v has a value for the key.
func (k Key) IsSet(v Values) bool { return !k.value.field(&v).IsZero() }

// Take copies the value of the key, and where it was set, from one object's values to another's.
func (k Key) Take(to *Values, from Values) {
	k.value.field(to).Set(k.value.field(&from))
	if k.origin != nil {
		field, keys := k.origin(to)
		fromField, fromKeys := k.origin(&from)
		*field, *keys = *fromField, *fromKeys
	}
}

// Joins reports whether the value in other replaces that in own although the two values count as the same. Only for
// services, it does so if other adds NTP.
func (k Key) Joins(own, other Values) bool { return k.joins != nil && k.joins(own, other) }

// OfNetwork returns the values in r.
func OfNetwork(r network.NetworkRequest) Values {
	return Values{CIDR: r.CIDR, CIDRField: r.CIDRField, CIDRKeys: r.CIDRKeys, Gateway: r.Gateway, Settings: r.Settings}
}

// SetNetwork writes v to r: all keys whose For is not WholeCluster.
func (v Values) SetNetwork(r *network.NetworkRequest) {
	r.CIDR, r.CIDRField, r.CIDRKeys, r.Gateway, r.Settings = v.CIDR, v.CIDRField, v.CIDRKeys, v.Gateway, v.Settings
}

// Same reports whether the values of the key in a and b have the same meaning.
func (k Key) Same(a, b Values) bool {
	equal := reflect.DeepEqual(k.value.field(&a).Interface(), k.value.field(&b).Interface()) // fast if both share one list
	return equal || reflect.DeepEqual(k.meaning(a), k.meaning(b))
}

// Says reports whether text, as the value of the annotation k, means the value of k in v.
func (k Key) Says(text string, v Values) bool {
	var said Values
	return k.value.set(&said, strings.TrimSpace(text)) == nil && k.Text(said) == k.Text(v)
}

// Text returns the value of the key as an annotation would have it.
func (k Key) Text(v Values) string {
	switch f := k.value.field(&v); {
	case f.Kind() != reflect.Slice:
		return fmt.Sprint(f.Interface())
	case f.Len() == 0:
		return "none"
	}
	return strings.Join(k.entries(v), ",")
}

func (k Key) meaning(v Values) any {
	switch f := k.value.field(&v); {
	case k.means != nil:
		return k.means(v)
	case f.Kind() == reflect.Slice:
		return k.entries(v)
	default:
		return f.Interface()
	}
}

// entries returns the entries of a list as text, without duplicates. They are sorted if their order has no meaning.
func (k Key) entries(v Values) []string {
	out := []string{}
	for _, x := range k.value.field(&v).Seq2() {
		out = append(out, fmt.Sprint(x.Interface()))
	}
	if !k.Ordered {
		slices.Sort(out)
	}
	return slices.Compact(out)
}

// A Part is a value, or an entry of a list. Its addresses decide which network it belongs to.
type Part struct {
	// Text names the part in messages.
	Text      string
	Addresses []netip.Addr
	value     any
}

// Within reports whether the part has an address in cidr, or is a range that covers cidr.
func (p Part) Within(cidr netip.Prefix) bool {
	r, isRange := p.value.(network.Range)
	return slices.ContainsFunc(p.Addresses, cidr.Contains) || isRange && r.Contains(cidr.Addr())
}

// ID returns a text that identifies the value of a part among the parts of one key.
func (p Part) ID() string { return fmt.Sprint(p.value) }

// Parts returns the value of the key in v as parts that can belong to different networks. A list without a meaningful
// order has one part for each entry. Any other value is one part. A value without addresses has no parts.
func (k Key) Parts(v Values) []Part {
	if k.For != OneNetwork {
		return nil
	}
	f := k.value.field(&v)
	all := []reflect.Value{f}
	if k.isList(f) {
		all = nil
		for _, x := range f.Seq2() {
			all = append(all, x)
		}
	}
	var out []Part
	for _, x := range all {
		if p, ok := part(x.Interface()); ok {
			out = append(out, p)
		}
	}
	return out
}

// SetParts sets the key's value in v to parts.
func (k Key) SetParts(v *Values, parts []Part) {
	f := k.value.field(v)
	f.SetZero()
	for _, p := range parts {
		if x := reflect.ValueOf(p.value); k.isList(f) {
			f.Set(reflect.Append(f, x))
		} else {
			f.Set(x)
		}
	}
}

func (k Key) isList(field reflect.Value) bool { return field.Kind() == reflect.Slice && !k.Ordered }

// part returns x as a part. ok is false if x has no addresses.
func part(x any) (p Part, ok bool) {
	p.value = x
	switch x := x.(type) {
	case netip.Addr:
		p.Addresses = []netip.Addr{x}
	case []netip.Addr:
		p.Addresses = x
	case network.Range:
		p.Addresses = []netip.Addr{x.First, x.Last}
	case network.Reservation:
		p.Addresses = []netip.Addr{x.Address}
	}
	if len(p.Addresses) == 0 || !p.Addresses[0].IsValid() {
		return p, false
	}
	p.Text = p.Addresses[0].String()
	if r, isRange := x.(network.Range); isRange {
		p.Text = r.String()
	}
	return p, true
}
