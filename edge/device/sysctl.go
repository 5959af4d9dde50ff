// This file reads the kernel's ARP settings. Unlike a snapshot, they are those of the
// network namespace of the calling thread.

package device

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ARPSetting returns the sysctl "arp_announce" or "arp_ignore" in force on the named
// interface: the larger of its own and of "all". It reads <root>/proc/sys; root is "/"
// outside of tests.
func ARPSetting(root, name, setting string) (level int, err error) {
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
