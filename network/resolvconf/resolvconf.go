// Package resolvconf parses a pod's /etc/resolv.conf. It reads no file.
package resolvconf

import (
	"bufio"
	"net/netip"
	"strings"
)

// A File holds the content of a pod's /etc/resolv.conf.
type File struct {
	// Servers in their order, port 53.
	Servers []netip.AddrPort
	// Search domains without trailing dot.
	Search []string
}

// Parse parses resolv.conf(5). It ignores unknown lines, as resolvers do.
func Parse(text string) File {
	var r File
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 2 {
			continue
		}
		switch words[0] {
		case "nameserver":
			if a, err := netip.ParseAddr(words[1]); err == nil {
				r.Servers = append(r.Servers, netip.AddrPortFrom(a, 53))
			}
		case "search", "domain":
			r.Search = nil
			for _, d := range words[1:] {
				r.Search = append(r.Search, strings.ToLower(strings.TrimSuffix(d, ".")))
			}
		}
	}
	return r
}
