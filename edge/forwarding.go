// This file decides whether an edge isolates: whether the kernel around it would
// forward what machines send. It only reads; it never changes a setting.

package edge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Forwards says whether the kernel would forward packets that come in by one of
// ifs, from <root>/proc/sys/net/ipv4/conf/<if>/forwarding; root is "/" but in
// tests. The setting of the incoming device alone decides (ip_route_input), so
// "all" and other devices need not be looked at. A new namespace takes over the
// setting of the node's first one, so a pod may forward that nobody asked to.
func Forwards(root string, ifs ...string) (bool, error) {
	for _, i := range ifs {
		b, err := os.ReadFile(filepath.Join(root, "proc/sys/net/ipv4/conf", i, "forwarding"))
		if err != nil {
			return false, fmt.Errorf("does %s forward: %w", i, err)
		}
		if strings.TrimSpace(string(b)) != "0" {
			return true, nil
		}
	}
	return false, nil
}

// Isolates is nil where the kernel would not forward what comes in by device,
// else an error that says what to do.
func Isolates(root, device string) error {
	forwards, err := Forwards(root, device)
	if err == nil && forwards {
		err = fmt.Errorf("the kernel would forward what machines send by %s, so nothing is served: set net.ipv4.conf.%s.forwarding=0", device, device)
	}
	return err
}
