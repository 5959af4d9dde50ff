// This file removes a machine. It relies only on what it finds on the host, so that it also works after an interrupted SwitchOn. It
// removes only what has the name or the network namespace of the machine.

package machine

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// SwitchOff ends every process of a machine, and removes its namespaces, interfaces and cgroups, which are called name, and dir. If
// the machine does not exist, it does nothing.
func SwitchOff(ctx context.Context, name, dir string) error {
	path := lan.NetNSPath(name)
	gone := func() (bool, error) {
		left := processesOf(path, dir)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(left) == 0, nil
	}
	if err := await.Poll(ctx, await.Patience, gone); err != nil {
		return fmt.Errorf("processes of %s that do not end: %v: %w", name, processesOf(path, dir), err)
	}
	if err := removeNetNS(name); err != nil {
		return err
	}
	if err := process.RemoveCgroup(name); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// processesOf returns the IDs of the processes in the network namespace at path, and of those that were started for the state
// directory dir.
func processesOf(path, dir string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	self := os.Getpid()
	mark := process.Mark + "=" + dir + "\x00"
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == self || isZombie(pid) {
			continue
		}
		if inNamespace(pid, path) || startedFor(pid, mark) {
			found = append(found, pid)
		}
	}
	return found
}

func startedFor(pid int, mark string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && strings.Contains("\x00"+string(env), "\x00"+mark)
}

// isZombie reports whether pid has ended, but its parent has not waited for it.
func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}

// inNamespace reports whether process pid is in the network namespace at path.
func inNamespace(pid int, path string) bool {
	var of, named unix.Stat_t
	if unix.Stat(path, &named) != nil || unix.Stat(fmt.Sprintf("/proc/%d/ns/net", pid), &of) != nil {
		return false
	}
	return of.Ino == named.Ino && of.Dev == named.Dev
}

// removeNetNS removes the interfaces of a network namespace, and then its name. The kernel would remove the interfaces only some time
// after the last process.
func removeNetNS(name string) error {
	_ = lan.InNetNS(lan.NetNSPath(name), func() error { // It fails if there is no such namespace, and so no interface.
		links, err := netlink.LinkList()
		if err != nil {
			return err
		}
		for _, l := range links {
			if l.Type() == "veth" {
				_ = netlink.LinkDel(l) // This removes both ends. The other one may have been removed before.
			}
		}
		return nil
	})
	return lan.DeleteNetNS(name)
}
