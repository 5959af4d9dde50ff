// This file encodes the client's name (option 81, RFC 4702), and the search list (119, RFC
// 3397).

package reply

import (
	"slices"
	"strings"
)

// The flags of option 81 (RFC 4702 section 2.1).
const (
	updatesA    = 1 << iota // S: the server adds the name to DNS
	overridden              // O: the server does not do what S of the client requests
	labels                  // E: the name is in labels, not in ASCII
	updatesNone             // N: the server adds neither name nor address to DNS
)

// obsoleteCodes are RCODE1 and RCODE2 in replies (RFC 4702 section 2.2).
const obsoleteCodes = 255

// clientName returns the reply to option 81 as the client sent it. Nil: the option is too short.
// The reply has the name of the VM, like option 12 and the PTR record. It never has the name that
// the client sent. An unknown client has no name. served reports whether the edges serve an A
// record of the VM, whatever the client requests.
func clientName(sent []byte, vm string, served bool) []byte {
	if len(sent) < 3 {
		return nil
	}
	flags := sent[0] & labels
	served = served && vm != ""
	if served {
		flags |= updatesA
	}
	if served != (sent[0]&updatesA != 0) {
		flags |= overridden
	}
	if vm == "" {
		flags |= updatesNone
	}
	out := []byte{flags, obsoleteCodes, obsoleteCodes}
	if flags&labels == 0 {
		return append(out, vm...)
	}
	// The name does not end with the root's label, so it is not fully qualified (RFC 4702 section 2.3.1).
	for label := range strings.SplitSeq(vm, ".") {
		if label != "" && len(label) <= longestLabel {
			out = append(append(out, byte(len(label))), label...)
		}
	}
	return out
}

const (
	// longestLabel is the longest label in bytes (RFC 1035 section 2.3.4).
	longestLabel = 63
	// A pointer has two bytes. They hold two bits that are set, and the offset of a label from the start
	// of the list (RFC 1035 section 4.1.4).
	pointer       = 0xc0
	farthestLabel = 1<<14 - 1
)

// searchList returns the value of option 119. A common end with an earlier domain becomes a
// pointer to that domain. No pointer leads to another pointer, since some clients do not follow
// the second one.
func searchList(domains []string) []byte {
	var out []byte
	var starts []start
	for _, domain := range domains {
		first := len(starts)
		rest := strings.TrimSuffix(domain, ".")
		for rest != "" {
			if i := slices.IndexFunc(starts[:first], func(s start) bool { return s.domain == rest }); i >= 0 {
				out = append(out, pointer|byte(starts[i].at>>8), byte(starts[i].at))
				break
			}
			if len(out) <= farthestLabel {
				starts = append(starts, start{rest, len(out)})
			}
			var label string
			label, rest, _ = strings.Cut(rest, ".")
			out = append(append(out, byte(len(label))), label...)
		}
		if rest != "" {
			starts = starts[:first]
			continue
		}
		out = append(out, 0)
	}
	return out
}

// A start is the offset at which a domain begins that is written as labels, not as a pointer.
type start struct {
	domain string
	at     int
}
