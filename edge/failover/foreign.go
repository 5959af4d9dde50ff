// This file asks whether somebody else on the network has an address that is to
// be ours. It never takes or gives one.

package failover

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge"
)

// An Owner is who answers for an address on the network.
type Owner struct {
	Address netip.Addr
	// MAC in lower case with colons.
	MAC string
}

// A HeldError says that an address is on this host already, so that the kernel
// asks nobody else for it.
type HeldError struct{ Address netip.Addr }

// Error says which address, and why nothing was asked.
func (e HeldError) Error() string {
	return fmt.Sprintf("%s is on this host already, so nobody can be asked who else has it", e.Address)
}

// Foreign is who has addresses on the network that device is on, in their order;
// addresses that nobody has are left out. It sends each a datagram and reads in
// the kernel's table (/proc/net/arp) whom that found. Who has sibling's own
// address is no stranger; sibling may be zero. It takes as long as patience; 3 s
// are enough. Nobody can be asked for an address that this host holds
// (HeldError), so ask before an edge gets it.
func Foreign(ctx context.Context, device string, addresses []netip.Addr, sibling netip.Addr, patience time.Duration) ([]Owner, error) {
	asked := addresses
	if sibling.IsValid() {
		asked = append([]netip.Addr{sibling}, addresses...)
	}
	for _, a := range asked {
		if err := ask(device, a); err != nil {
			return nil, err
		}
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
	}
	found, err := neighbours(device)
	if err != nil {
		return nil, err
	}
	var out []Owner
	for _, a := range addresses {
		if mac, ok := found[a]; ok && (!sibling.IsValid() || mac != found[sibling]) {
			out = append(out, Owner{a, mac})
		}
	}
	return out, nil
}

// ask has the kernel look for the neighbour that has a.
func ask(device string, a netip.Addr) error {
	held, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, h := range held {
		if p, err := netip.ParsePrefix(h.String()); err == nil && p.Addr() == a {
			return HeldError{a}
		}
	}
	const discard = 9
	d := net.Dialer{Control: edge.Control(device, unix.SO_DONTROUTE)}
	c, err := d.Dial("udp4", netip.AddrPortFrom(a, discard).String())
	if err != nil {
		return fmt.Errorf("who has %s: %w", a, err)
	}
	defer func() { _ = c.Close() }()
	if _, err = c.Write([]byte{0}); err != nil {
		return fmt.Errorf("who has %s: %w", a, err)
	}
	return nil
}

// neighbours are the MACs that the kernel knows on device. /proc/net would be the
// network namespace of the process's first thread.
func neighbours(device string) (map[netip.Addr]string, error) {
	f, err := os.Open("/proc/thread-self/net/arp")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	out := map[netip.Addr]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		// IP address, HW type, Flags, HW address, Mask, Device; 0x2 is ATF_COM.
		w := strings.Fields(s.Text())
		if len(w) != 6 || w[2] == "0x0" || w[5] != device {
			continue
		}
		if a, err := netip.ParseAddr(w[0]); err == nil {
			out[a] = strings.ToLower(w[3])
		}
	}
	return out, nil
}
