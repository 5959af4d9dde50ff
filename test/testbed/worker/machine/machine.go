// Package machine is a machine on a VLAN and nowhere else: network, mount, process, UTS and
// IPC namespaces under one init, and the programs of a HyperShift node that meet the network. They are
// the real ones: DHCP client, resolver, HTTPS client, proxy, container runtime and kubelet.
// It never configures an address: that is the DHCP client's work.
package machine

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// stateMount is where a machine sees its own state directory: a short path, since
// names of Unix sockets are limited to 107 bytes.
const stateMount = "/run/machine"

//go:embed init.sh
var initScript string

// A Machine is a set of namespaces that stays while its init lives.
type Machine struct {
	// Name of the network namespace under /run/netns.
	Name string
	// Dir holds the machine's state and logs; the machine sees it as /run/machine.
	Dir string
	// PID of the machine's init, as the host counts.
	PID int
}

// SwitchOn makes a machine with a loopback interface and no other. A rest of a
// machine of the same name is removed first.
func SwitchOn(ctx context.Context, name, dir string) (*Machine, error) {
	if err := SwitchOff(ctx, name, dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "log"), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "init.sh"), []byte(initScript), 0o644); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log", "init.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	m := &Machine{Name: name, Dir: dir}
	if err := lan.NewNetNS(name); err != nil {
		return nil, err
	}
	err = lan.InNetNS(lan.NetNSPath(name), func() error {
		if err := loopbackUp(); err != nil {
			return err
		}
		cmd := exec.Command("/bin/sh", filepath.Join(dir, "init.sh"), dir)
		cmd.Env = append(os.Environ(), process.Mark+"="+dir)
		cmd.Stdout, cmd.Stderr = log, log
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Setsid:     true,
			Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		m.PID = cmd.Process.Pid
		go func() { _ = cmd.Wait() }() // no zombie while we live
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "init.pid"), []byte(strconv.Itoa(m.PID)), 0o644); err != nil {
		return nil, err
	}
	// The init writes this file into its own /run when its mounts are done.
	ready := fmt.Sprintf("/proc/%d/root/run/booted", m.PID)
	if err := await.Poll(ctx, await.Patience, func() (bool, error) { _, err := os.Stat(ready); return err == nil, nil }); err != nil {
		text, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("init of %s: %w: %s", name, err, text)
	}
	return m, nil
}

// Attach finds a machine that runs.
func Attach(name, dir string) (*Machine, error) {
	text, err := os.ReadFile(filepath.Join(dir, "init.pid"))
	if err != nil {
		return nil, fmt.Errorf("no machine in %s: %w", dir, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("init.pid of %s: %w", dir, err)
	}
	if !inNamespace(pid, lan.NetNSPath(name)) {
		return nil, fmt.Errorf("the machine %s is off", name)
	}
	return &Machine{Name: name, Dir: dir, PID: pid}, nil
}

// Command runs a program inside all of the machine's namespaces. When ctx ends,
// the program is killed with everything it started.
func (m *Machine) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(m.PID), "--mount", "--net", "--pid", "--uts", "--ipc", "--", name}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
	cmd.Env = append(os.Environ(), process.Mark+"="+m.Dir, "PATH="+searchPath)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Output is what a program prints inside the machine. An error carries what it
// wrote to standard error.
func (m *Machine) Output(ctx context.Context, name string, args ...string) ([]byte, error) {
	out, err := m.Command(ctx, name, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out, fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}

// Start leaves a program running in the machine; it ends with the machine. What it
// prints goes to log/<service>.log. extra is added to its environment.
func (m *Machine) Start(service string, extra []string, name string, args ...string) error {
	log, err := os.Create(filepath.Join(m.Dir, "log", service+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := m.Command(context.WithoutCancel(context.Background()), name, args...)
	cmd.Env = append(cmd.Env, extra...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", service, err)
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// WriteFile writes into the machine's state directory; it returns the path that
// the machine sees.
func (m *Machine) WriteFile(name string, data []byte, mode os.FileMode) (string, error) {
	path := filepath.Join(m.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		return "", err
	}
	return filepath.Join(stateMount, name), nil
}

// Inside runs f on a thread in the machine's network namespace. Sockets that f
// opens on its own goroutine belong to the machine; names are still resolved as
// the host does.
func (m *Machine) Inside(f func() error) error { return lan.InNetNS(m.NetNS(), f) }

// NetNS is the path of the machine's network namespace.
func (m *Machine) NetNS() string { return lan.NetNSPath(m.Name) }

// WaitCarrier waits until the card has a link: what is sent before that is lost.
func (m *Machine) WaitCarrier(ctx context.Context) error {
	err := await.Poll(ctx, await.Patience, func() (up bool, err error) {
		err = m.Inside(func() error {
			card, err := netlink.LinkByName(Interface)
			if err == nil {
				up = card.Attrs().OperState == netlink.OperUp
			}
			return err
		})
		return up, err
	})
	if err != nil {
		return fmt.Errorf("%s has no link: %w", Interface, err)
	}
	return nil
}

func loopbackUp() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}
