package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	. "github.com/onsi/gomega"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/programs"
)

// TestProxyWithoutCounts: where the kernel lists no connections, VMs have no share. The proxy starts, carries their connections
// and reports it.
func TestProxyWithoutCounts(t *testing.T) {
	g := NewWithT(t)
	program := programs.RequireEnvoy(t)
	v := newVLAN(t, blueService+"/32")
	greeter(t, v.pod, "10.128.0.1:6443")
	file := filepath.Join(t.TempDir(), "plan.json")
	proxied(t, file, 6443)
	run, err := os.MkdirTemp("", "oooi-run-")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	c := command(t, v.edge, "proxy", "--plan", file, "--run-dir", run, "--envoy", program)
	var said programs.Output
	c.Stdout, c.Stderr = &said, &said
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // It ends with the goroutine, and only what it starts has no sock_diag.
		err := denySockDiag()
		if err == nil {
			err = c.Start()
		}
		started <- err
	}()
	g.Expect(<-started).To(Succeed())
	t.Cleanup(func() {
		_ = c.Process.Signal(unix.SIGTERM)
		_ = c.Wait()
	})
	g.Eventually(func() (string, error) {
		hello, _, err := greeted(t, v.machine, blueService+":6443")
		return hello, err
	}).Should(Equal("the API"), said.String)
	g.Eventually(said.String).Should(ContainSubstring("connections cannot be counted"))
	g.Expect(scraped(t, wire.Socket(run, "proxy"))).To(ContainSubstring("oooi_proxy_connections_counted 0"))
}

// denySockDiag makes the kernel refuse sockets of NETLINK_SOCK_DIAG to this thread and to what it starts, as for a process
// that may not have them.
func denySockDiag() error {
	const number, family, protocol = 0, 16, 32 // Where seccomp_data has them, see seccomp(2).
	program, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: number, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_SOCKET, SkipTrue: 5},
		bpf.LoadAbsolute{Off: family, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_NETLINK, SkipTrue: 3},
		bpf.LoadAbsolute{Off: protocol, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.NETLINK_SOCK_DIAG, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPROTONOSUPPORT)},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(program))
	for i, x := range program {
		filter[i] = unix.SockFilter{Code: x.Op, Jt: x.Jt, Jf: x.Jf, K: x.K}
	}
	p := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&p)), 0, 0)
}
