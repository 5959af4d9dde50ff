// This file spreads questions over several sockets, to have more buffer. It needs no privilege.

package dns

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const (
	// groups is the number of groups of sockets. The questions of one client arrive in one group, so a flood fills the
	// buffers of only one. The ID of the message chooses the socket in the group.
	groups, socketsPerGroup = 8, 4
	// receivers is how many sockets receive. Sockets also counts one further socket of each group. It only sends to hosts
	// that may not exist, so a VM that invents addresses fills only that socket's buffer.
	receivers = groups * socketsPerGroup
	Sockets   = receivers + groups
)

// Offsets of the value from which the kernel chooses a socket. It is the last four bytes of the source MAC. On the pod
// network, where all packets have the same MAC, it is the IPv4 source address.
const (
	byMAC     = 0xffe00000 + 8
	byAddress = 0xfff00000 + 12
)

// spread makes the kernel choose one of conns for each packet, from the value at the offset in parameter by. It returns
// a socket to send on for each of conns.
func spread(conns []*net.UDPConn, by uint32) ([]socket, error) {
	program, err := bpf.Assemble(choose(by))
	if err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	var out []socket
	for _, c := range conns {
		raw, err := c.SyscallConn()
		if err != nil {
			return nil, err
		}
		out = append(out, socket{raw, c.LocalAddr()})
	}
	if len(out) != Sockets {
		return nil, fmt.Errorf("%d sockets, want %d", len(out), Sockets)
	}
	code := make([]unix.SockFilter, len(program))
	for i, x := range program {
		code[i] = unix.SockFilter{Code: x.Op, Jt: x.Jt, Jf: x.Jf, K: x.K}
	}
	var set error
	err = out[0].raw.Control(func(fd uintptr) {
		set = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF,
			&unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]})
	})
	if err := errors.Join(err, set); err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	return out, nil
}

// choose returns a program whose result is the number of a socket.
func choose(by uint32) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: by, Size: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: 0x9e3779b1},    // Fibonacci hashing: the upper bits are mixed.
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 32 - 3}, // 8 groups
		bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: socketsPerGroup},
		bpf.TAX{},
		bpf.LoadExtension{Num: bpf.ExtLen}, // A read beyond the end would choose socket 0 for every MAC.
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: 2, SkipTrue: 2},
		bpf.TXA{},
		bpf.RetA{},
		bpf.LoadAbsolute{Off: 0, Size: 2}, // The ID of the message.
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: socketsPerGroup - 1},
		bpf.ALUOpX{Op: bpf.ALUOpAdd},
		bpf.RetA{},
	}
}
