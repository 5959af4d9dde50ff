// This file reads settings that netlink does not report, in the network namespace of the calling thread.

package device

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// IPv4Setting returns the sysctl "arp_announce", "arp_ignore" or "accept_redirects" in force on the named
// interface, which does not forward. It is the larger of the interface's own value and that of "all". It reads
// <root>/proc/sys; root is "/" outside of tests.
func IPv4Setting(root, name, setting string) (level int, err error) {
	for _, i := range []string{"all", name} {
		b, err := os.ReadFile(filepath.Join(root, "proc/sys/net/ipv4/conf", i, setting))
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			return 0, fmt.Errorf("%s of %s: %w", setting, i, err)
		}
		level = max(level, n)
	}
	return level, nil
}
