// Package lan has the networks of a testbed: named network namespaces, the bridges that stand for the physical LAN, the
// cables between them, access ports of its VLANs, and routers. Who is plugged in is decided elsewhere.
package lan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

const netnsDir = "/run/netns"

// NetNSPath is where the network namespace of that name is.
func NetNSPath(name string) string { return filepath.Join(netnsDir, name) }

// NetNSNames are the names of all network namespaces of this machine.
func NetNSNames() ([]string, error) {
	entries, err := os.ReadDir(netnsDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// NewNetNS makes a named network namespace with nothing in it but a loopback
// that is down. One that exists already is an error.
func NewNetNS(name string) error {
	if err := shareNetNSDir(); err != nil {
		return fmt.Errorf("%s: %w", netnsDir, err)
	}
	return onOwnThread(func() error {
		handle, err := netns.NewNamed(name)
		if err != nil {
			return fmt.Errorf("network namespace %s: %w", name, err)
		}
		return handle.Close()
	})
}

// shareNetNSDir makes the directory of names a mount of its own, as iproute2 does
// with its first namespace: did that come later, it would lie over ours, and their
// names could not be removed.
func shareNetNSDir() error {
	if err := os.MkdirAll(netnsDir, 0o755); err != nil {
		return err
	}
	share := func() error { return unix.Mount("", netnsDir, "none", unix.MS_SHARED|unix.MS_REC, "") }
	if err := share(); !errors.Is(err, unix.EINVAL) { // not a mount yet
		return err
	}
	if err := unix.Mount(netnsDir, netnsDir, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return share()
}

// DeleteNetNS removes the name; the namespace goes with its last process. None of
// that name is not an error.
func DeleteNetNS(name string) error {
	if err := netns.DeleteNamed(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		// a file that was made but never mounted upon, by one who was killed between the two
		if err := os.Remove(NetNSPath(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("network namespace %s: %w", name, err)
		}
	}
	return nil
}

// InNetNS runs f on a thread that is in the network namespace at path. What f
// starts on other goroutines is not.
func InNetNS(path string, f func() error) error {
	return onOwnThread(func() error {
		handle, err := netns.GetFromPath(path)
		if err != nil {
			return fmt.Errorf("network namespace %s: %w", path, err)
		}
		defer handle.Close()
		if err := netns.Set(handle); err != nil {
			return fmt.Errorf("network namespace %s: %w", path, err)
		}
		return f()
	})
}

// DialNetNS dials from inside the network namespace at path; host names are not
// resolved there, so addresses must be IPs.
func DialNetNS(path string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		err = InNetNS(path, func() error {
			conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
			return err
		})
		return conn, err
	}
}

// onOwnThread runs f on a thread that is thrown away afterwards, so that no other
// goroutine ever runs in the namespaces f has entered.
func onOwnThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		done <- f()
	}()
	return <-done
}
