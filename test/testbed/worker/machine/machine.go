// Package machine imitates a VM that is only on a VLAN. A machine consists of network, mount, PID, UTS and IPC namespaces with one
// init. It runs the programs of a HyperShift node that use the network: a DHCP client, resolver, HTTPS client, proxy, container
// runtime and kubelet. These are real programs. Only the DHCP client configures addresses.
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

// stateMount is the path of a machine's state directory inside the machine. It is short, because the paths of Unix sockets have at
// most 107 bytes.
const stateMount = "/run/machine"

//go:embed init.sh
var initScript string

// A Machine is a set of namespaces that exists while its init runs.
type Machine struct {
	// Name is the name of the network namespace in /run/netns.
	Name string
	// Dir contains the machine's state and logs. Inside the machine, it is /run/machine.
	Dir string
	// PID is the process ID of the machine's init on the host.
	PID int
}

// SwitchOn starts a machine that has only a loopback interface. It first removes what remains of a machine with the same name.
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
		go func() { _ = cmd.Wait() }() // So that the init does not become a zombie while this process runs.
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "init.pid"), []byte(strconv.Itoa(m.PID)), 0o644); err != nil {
		return nil, err
	}
	// The init writes this file into its own /run when it has mounted everything.
	ready := fmt.Sprintf("/proc/%d/root/run/booted", m.PID)
	if err := await.Poll(ctx, await.Patience, func() (bool, error) { _, err := os.Stat(ready); return err == nil, nil }); err != nil {
		text, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("init of %s: %w: %s", name, err, text)
	}
	return m, nil
}

// Attach returns the running machine with this name and state directory.
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

// Command returns a command that runs in all namespaces of the machine. When ctx ends, it is killed together with its children.
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

// Output runs a program in the machine, and returns its standard output. An error contains its standard error.
func (m *Machine) Output(ctx context.Context, name string, args ...string) ([]byte, error) {
	out, err := m.Command(ctx, name, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out, fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}

// Start starts a program in the machine, and does not wait for it. The program ends with the machine. Its output is in
// log/<service>.log. extra is added to its environment.
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

// WriteFile writes a file in the machine's state directory, and returns its path inside the machine.
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

// Inside calls f on a thread in the machine's network namespace. Sockets that f opens on its own goroutine are in that namespace.
// Names are resolved as on the host.
func (m *Machine) Inside(f func() error) error { return lan.InNetNS(m.NetNS(), f) }

// NetNS returns the path of the machine's network namespace.
func (m *Machine) NetNS() string { return lan.NetNSPath(m.Name) }

// WaitCarrier waits until the interface has a link. Packets that are sent before are lost.
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
