// This file reads which packets the kernel forwards, and whether it verifies their source
// addresses. Unlike files below /proc/sys, the answers are those of the socket's network
// namespace.

package device

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Constants of linux/netconf.h and linux/ipv6.h that no library has.
const (
	netconfIfindex      = 1
	netconfForwarding   = 2
	netconfRPFilter     = 3
	netconfBCForwarding = 8
	// netconfAll is the index of the settings of "all".
	netconfAll = -1
	// netconfHeader is struct netconfmsg, padded.
	netconfHeader = 4
	// The indexes of sysctls in the array of IFLA_INET6_CONF.
	devconfDisableIPv6     = 26
	devconfForceForwarding = 59
)

// strict is the rp_filter with which the kernel accepts a source address only on the interface
// of its route.
const strict = 1

// A conf holds the settings of one interface by their attributes of RTM_GETNETCONF.
type conf map[uint16]int32

// settings holds the settings of each address family.
type settings struct {
	ipv4, ipv6 map[int32]conf
	// ipv6Of has IFLA_INET6_CONF of each interface with IPv6, by its index.
	ipv6Of map[int32][]byte
}

// settings reads the settings of all interfaces.
func (k kernel) settings() (s settings, err error) {
	if s.ipv4, err = k.confs(unix.AF_INET); err == nil {
		s.ipv6, err = k.confs(unix.AF_INET6)
	}
	if _, said := s.ipv4[netconfAll]; err == nil && !said {
		err = errors.New("settings of the kernel: no answer")
	}
	if err == nil {
		s.ipv6Of, err = k.ipv6Confs()
	}
	return s, err
}

// forwarding returns the sysctls, sorted, that let packets pass between this interface and another
// one. Parameter up has the names of the interfaces that are up.
func (s settings) forwarding(index int, up map[int]string) []string {
	var out []string
	for i, name := range up {
		own := s.ipv4[int32(i)]
		if own[netconfForwarding] != 0 {
			out = append(out, "net.ipv4.conf."+name+".forwarding")
		}
		// With bc_forwarding IPv4 forwards broadcasts, whatever forwarding is.
		if own[netconfBCForwarding] != 0 && s.ipv4[netconfAll][netconfBCForwarding] != 0 {
			out = append(out, "net.ipv4.conf."+name+".bc_forwarding")
		}
		if s.takesIPv6(index) && devconf(s.ipv6Of[int32(i)], devconfForceForwarding) != 0 {
			out = append(out, "net.ipv6.conf."+name+".force_forwarding")
		}
	}
	// IPv4 looks at the interface on which a packet arrives, IPv6 at "all".
	if s.takesIPv6(index) && s.ipv6[netconfAll][netconfForwarding] != 0 {
		out = append(out, "net.ipv6.conf.all.forwarding")
	}
	slices.Sort(out)
	return out
}

// takesIPv6 reports whether the interface sends and receives IPv6 packets.
func (s settings) takesIPv6(index int) bool {
	own, has := s.ipv6Of[int32(index)]
	return has && devconf(own, devconfDisableIPv6) == 0
}

// verifiesSources reports whether rp_filter is strict: the kernel uses the larger of "all" and the
// interface's own value, and 2 is loose.
func (s settings) verifiesSources(index int) bool {
	return max(s.ipv4[netconfAll][netconfRPFilter], s.ipv4[int32(index)][netconfRPFilter]) == strict
}

// A header is the fixed part of a netlink request.
type header []byte

func (h header) Len() int          { return len(h) }
func (h header) Serialize() []byte { return h }

// ask sends one request and returns the answers of one type.
func (k kernel) ask(question, flags int, answer uint16, parts ...nl.NetlinkRequestData) ([][]byte, error) {
	q := nl.NewNetlinkRequest(question, flags)
	q.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: k.netconf}
	for _, p := range parts {
		q.AddData(p)
	}
	return q.Execute(unix.NETLINK_ROUTE, answer)
}

// confs reads the settings of a family (RTM_GETNETCONF). They are empty if the kernel does not
// have it.
func (k kernel) confs(family byte) (map[int32]conf, error) {
	answers, err := k.ask(unix.RTM_GETNETCONF, unix.NLM_F_DUMP, unix.RTM_NEWNETCONF, header{family, 0, 0, 0})
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return nil, fmt.Errorf("settings of the kernel: %w", err)
	}
	out := map[int32]conf{}
	for _, a := range answers {
		values, err := attributes(a, netconfHeader)
		if err != nil {
			return nil, err
		}
		// A kernel without the family answers with all others.
		if a[0] != family {
			continue
		}
		c := conf{}
		for kind, value := range values {
			if len(value) >= 4 {
				c[kind] = int32(binary.NativeEndian.Uint32(value))
			}
		}
		out[c[netconfIfindex]] = c
	}
	return out, nil
}

// ipv6Confs reads the settings of all interfaces with IPv6 by their index (RTM_GETLINK).
func (k kernel) ipv6Confs() (map[int32][]byte, error) {
	answers, err := k.ask(unix.RTM_GETLINK, unix.NLM_F_DUMP, unix.RTM_NEWLINK, nl.NewIfInfomsg(unix.AF_UNSPEC))
	if err != nil {
		return nil, fmt.Errorf("settings of interfaces: %w", err)
	}
	out := map[int32][]byte{}
	for _, a := range answers {
		nested, at := a, unix.SizeofIfInfomsg
		for _, kind := range []uint16{unix.IFLA_AF_SPEC, unix.AF_INET6, unix.IFLA_INET6_CONF} {
			all, err := attributes(nested, at)
			if err != nil {
				return nil, err
			}
			nested, at = all[kind], 0
		}
		if len(nested) > 0 {
			out[nl.DeserializeIfInfomsg(a).Index] = nested
		}
	}
	return out, nil
}

// devconf returns one value of IPv6 settings, and 0 if an older kernel does not have it.
func devconf(all []byte, place int) int32 {
	if len(all) < (place+1)*4 {
		return 0
	}
	return int32(binary.NativeEndian.Uint32(all[place*4:]))
}

// attributes returns the attributes of a message, which follow its header, by their types.
func attributes(message []byte, header int) (map[uint16][]byte, error) {
	if len(message) < header {
		return nil, errors.New("settings of the kernel: a message is too short")
	}
	all, err := nl.ParseRouteAttr(message[header:])
	if err != nil {
		return nil, fmt.Errorf("settings of the kernel: %w", err)
	}
	out := map[uint16][]byte{}
	for _, a := range all {
		out[a.Attr.Type&nl.NLA_TYPE_MASK] = a.Value
	}
	return out, nil
}
