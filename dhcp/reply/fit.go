// This file packs options into a reply, as RFC 2132 sections 9.3 and 9.10 and RFC 3396 define. It
// decides which are left out if the client's packet is too small.

package reply

import (
	"slices"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

const (
	// ipHeaders is the length of the IP and UDP headers, which option 57 includes.
	ipHeaders = 28
	// fixedPart is the length of a message before its options, including the magic cookie.
	fixedPart = 240
	// Every client accepts 576 bytes (RFC 2131 section 2). A message never exceeds an
	// Ethernet frame.
	leastMessage, mostMessage = 576, 1500
	// fileField and serverField are the bytes that options may use in the fields file and
	// sname, before the end option and a zero.
	fileField, serverField = 128 - 2, 64 - 2
)

// The values of option 52 (RFC 2132 section 9.3). Their sum means both fields.
const (
	inFile   = 1
	inServer = 2
)

// needed options come first: a VM needs each of them to reach anything. The client's name (81)
// follows, since a reply to it is mandatory.
var needed = [...]uint8{
	dhcpv4.OptionSubnetMask.Code(), dhcpv4.OptionClasslessStaticRoute.Code(), dhcpv4.OptionRouter.Code(), dhcpv4.OptionDomainNameServer.Code(),
}

// fill adds options of the plan to m: those that the client requests (option 55), or all if the
// request has no option 55. Needed options come first, the others in the client's order, as long as
// they fit (option 57). If fewer are left out that way, options that do not fit go into the fields
// file and sname (option 52). It returns the options that do not fit at all.
func fill(m, request *dhcpv4.DHCPv4, may offers) (left []uint8) {
	size := leastMessage
	if most, err := request.MaxMessageSize(); err == nil {
		size = min(max(int(most), leastMessage), mostMessage)
	}
	size -= ipHeaders + fixedPart + optionsLength(m.Options) + 1
	all := wanted(request, may, m.Options)
	best := pack(all, [3]int{size})
	if len(best.left) > 0 && overloads(request) {
		const own = 3 // bytes of option 52
		if more := pack(all, [3]int{size - own, serverField, fileField}); len(more.left) < len(best.left) && subset(more.left, best.left) {
			best = more
		}
	}
	for _, o := range best.fields[0] {
		m.Options[o.code] = o.value
	}
	m.ServerHostName, m.BootFileName = terminated(best.fields[1]), terminated(best.fields[2])
	if where := used(m.BootFileName, inFile) + used(m.ServerHostName, inServer); where > 0 {
		m.Options[dhcpv4.OptionOptionOverload.Code()] = []byte{where}
	}
	return best.left
}

// A packing is the options in each field of a message (options, sname, file), and the codes
// that do not fit.
type packing struct {
	fields [3][]option
	left   []uint8
}

// pack puts each option into the first field with enough space, in bytes. Sname, which is
// smaller, comes before file.
func pack(all []option, space [3]int) packing {
	p := packing{fields: [3][]option{make([]option, 0, len(all))}}
	for _, o := range all {
		size := o.length()
		i := slices.IndexFunc(space[:], func(bytes int) bool { return size <= bytes })
		if i < 0 {
			p.left = append(p.left, o.code)
			continue
		}
		space[i] -= size
		p.fields[i] = append(p.fields[i], o)
	}
	return p
}

// overloads reports whether file and sname may have options. Clients that boot from the
// network, and so request options 66 or 67, read a file name and a server there.
func overloads(request *dhcpv4.DHCPv4) bool {
	return !slices.ContainsFunc(request.Options.Get(dhcpv4.OptionParameterRequestList), func(code uint8) bool {
		return code == dhcpv4.OptionTFTPServerName.Code() || code == dhcpv4.OptionBootfileName.Code()
	})
}

// wanted returns the options that the client requests and the reply lacks, each once,
// needed options first.
func wanted(request *dhcpv4.DHCPv4, may offers, has dhcpv4.Options) []option {
	asked := request.Options.Get(dhcpv4.OptionParameterRequestList)
	out := make([]option, 0, mostOffers)
	add := func(code uint8) {
		if o, ok := may.of(code); ok && !has.Has(dhcpv4.GenericOptionCode(code)) && !slices.ContainsFunc(out, func(p option) bool { return p.code == code }) {
			out = append(out, o)
		}
	}
	for _, code := range needed {
		if len(asked) == 0 || slices.Contains(asked, code) {
			add(code)
		}
	}
	add(dhcpv4.OptionFQDN.Code())
	for _, code := range asked {
		add(code)
	}
	if len(asked) == 0 {
		for _, o := range may {
			add(o.code)
		}
	}
	return out
}

// terminated returns the encoded options of field, with an end option. If there are no options, it
// returns the empty string.
func terminated(field []option) string {
	if len(field) == 0 {
		return ""
	}
	var out []byte
	for _, o := range field {
		out = appendOption(out, o)
	}
	return string(append(out, dhcpv4.OptionEnd.Code()))
}

// used returns the value for option 52 if the field has options, else zero.
func used(field string, value byte) byte {
	if field == "" {
		return 0
	}
	return value
}

// subset reports whether parameter all contains each element of parameter some.
func subset(some, all []uint8) bool {
	return !slices.ContainsFunc(some, func(code uint8) bool { return !slices.Contains(all, code) })
}
