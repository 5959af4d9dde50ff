// Package lan creates the networks of a testbed: named network namespaces, the bridges that replace the physical LAN, cables
// between them (veth pairs), access ports for its VLANs, and routers.
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

// NetNSPath returns the path of the network namespace with this name.
func NetNSPath(name string) string { return filepath.Join(netnsDir, name) }

// NetNSNames returns the names of all named network namespaces on this host.
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

// NewNetNS creates a named network namespace. It contains only a loopback device, which is down. NewNetNS returns an error if
// the name exists.
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

// shareNetNSDir makes the directory of names a shared mount, as iproute2 does when it creates its first namespace. If iproute2
// did that later, its mount would cover the names of this package, and they could not be removed.
func shareNetNSDir() error {
	if err := os.MkdirAll(netnsDir, 0o755); err != nil {
		return err
	}
	share := func() error { return unix.Mount("", netnsDir, "none", unix.MS_SHARED|unix.MS_REC, "") }
	if err := share(); !errors.Is(err, unix.EINVAL) { // EINVAL: it is not a mount yet.
		return err
	}
	if err := unix.Mount(netnsDir, netnsDir, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return share()
}

// DeleteNetNS removes the name of a network namespace. The namespace ends with its last process. If the name does not exist,
// DeleteNetNS does nothing.
func DeleteNetNS(name string) error {
	if err := netns.DeleteNamed(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		// NewNetNS creates a file and then mounts on it. A process that was killed in between has left the file.
		if err := os.Remove(NetNSPath(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("network namespace %s: %w", name, err)
		}
	}
	return nil
}

// InNetNS calls f on a thread in the network namespace at path. Goroutines that f starts are not in it.
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

// DialNetNS returns a function that dials from the network namespace at path. Addresses must be IPs, because it does not resolve
// names there.
func DialNetNS(path string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		err = InNetNS(path, func() error {
			conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
			return err
		})
		return conn, err
	}
}

// onOwnThread calls f on a thread that ends afterwards, so that no other goroutine runs in the namespaces that f has entered.
func onOwnThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // It is never unlocked, so the thread ends with this goroutine.
		done <- f()
	}()
	return <-done
}
