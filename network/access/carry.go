// This file carries bytes in one direction of a tunnel. An idle tunnel holds no buffer and no pipe, a small message is copied, and
// what is queued behind a full buffer stays in the kernel (splice(2)).

package access

import (
	"cmp"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// bufferSize is the size of a buffer in bytes.
const bufferSize = 32 << 10

// buffers are shared by all tunnels of a process, as pipes of package net are.
type buffers struct{ sync.Pool }

func newBuffers() *buffers {
	return &buffers{sync.Pool{New: func() any { return new([bufferSize]byte) }}}
}

// A reader reads from a socket. It takes a buffer only once there is something to read.
type reader struct {
	from    *net.TCPConn
	raw     syscall.RawConn
	buffers *buffers
}

func newReader(from *net.TCPConn, b *buffers) (reader, error) {
	raw, err := from.SyscallConn()
	return reader{from, raw, b}, err
}

// next waits for data, and returns it in a buffer of the pool. Length 0: the peer sends no more.
func (r reader) next() (b *[bufferSize]byte, length int, err error) {
	var failed error
	err = r.raw.Read(func(fd uintptr) bool {
		b = r.buffers.Get().(*[bufferSize]byte)
		for {
			length, failed = unix.Read(int(fd), b[:])
			if !errors.Is(failed, unix.EINTR) {
				break
			}
		}
		if errors.Is(failed, unix.EAGAIN) {
			r.buffers.Put(b)
			b = nil
			return false
		}
		return true
	})
	return b, max(0, length), cmp.Or(err, failed)
}

// queued returns how many bytes the kernel has to read.
func (r reader) queued() (n int) {
	_ = r.raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return n
}

// carry sends to what r reads, until the peer sends no more or a socket fails. It passes the number of bytes to count as they
// are sent.
func carry(to *net.TCPConn, r reader, count func(bytes int64)) error {
	for {
		b, length, err := r.next()
		if err == nil && length > 0 {
			_, err = to.Write(b[:length])
			count(int64(length))
		}
		if b != nil {
			r.buffers.Put(b)
		}
		if err != nil || length == 0 {
			return err
		}
		for n := bufferSize; length == bufferSize && n >= bufferSize; {
			if n = r.queued(); n == 0 {
				break
			}
			sent, err := to.ReadFrom(&io.LimitedReader{R: r.from, N: int64(n)})
			count(sent)
			if err != nil {
				return err
			}
		}
	}
}
