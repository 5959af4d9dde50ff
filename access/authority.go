// This file reads the host and port that a CONNECT request names. It is strict, so that each host has only one spelling.

package access

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// An Authority is the target of a CONNECT request (RFC 9110, section 9.3.6).
type Authority struct {
	// Name is the host name in lower case, without a trailing dot. Empty: the caller named Address.
	Name    string
	Address netip.Addr
	// Port is 1 to 65535.
	Port uint16
}

// String returns the authority in the form that ParseAuthority reads.
func (a Authority) String() string {
	host := a.Name
	if host == "" {
		return netip.AddrPortFrom(a.Address, a.Port).String()
	}
	return host + ":" + strconv.Itoa(int(a.Port))
}

// The longest name and label in octets (RFC 1035, section 2.3.4).
const (
	longestName  = 253
	longestLabel = 63
)

// Errors of ParseAuthority. They do not repeat what a caller sent.
var (
	errNoPort  = errors.New("the target must be host:port")
	errPort    = errors.New("the port must be a number from 1 to 65535, without leading zeros")
	errHost    = errors.New("the host must be a DNS name or an IP address")
	errAddress = errors.New("the host looks like an IPv4 address and is not written as four decimal numbers")
)

// ParseAuthority reads "host:port". The host is a DNS name, an IPv4 address in its usual form, or an IPv6 address in
// brackets. It returns an error for anything else: other spellings of addresses, user information, paths, and escapes.
func ParseAuthority(s string) (Authority, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return Authority{}, errNoPort
	}
	host, port := s[:i], s[i+1:]
	n, err := parsePort(port)
	if err != nil {
		return Authority{}, err
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		if !closed || err != nil || !a.Is6() || a.Zone() != "" {
			return Authority{}, errHost
		}
		return Authority{Address: a, Port: n}, nil
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Is4() {
		return Authority{Address: a, Port: n}, nil
	}
	name, err := parseName(host)
	return Authority{Name: name, Port: n}, err
}

// parsePort reads a port in its only spelling, without leading zeros or a sign.
func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != s {
		return 0, errPort
	}
	return uint16(n), nil
}

// parseName reads a DNS name of letters, digits, hyphens and underscores, with or without a trailing dot. It refuses names whose
// last label is a number, such as 0x7f.1: programs read them as addresses (RFC 6943, section 3.1.1).
func parseName(s string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(s, "."))
	if len(name) > longestName {
		return "", errHost
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > longestLabel || strings.ContainsFunc(label, notInName) {
			return "", errHost
		}
		last = label
	}
	if isNumber(last) {
		return "", errAddress
	}
	return name, nil
}

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// isNumber reports whether a label is a decimal, octal or hexadecimal number.
func isNumber(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	return !strings.ContainsFunc(digits, func(r rune) bool {
		return (r < '0' || r > '9') && (!hex || r < 'a' || r > 'f')
	})
}
