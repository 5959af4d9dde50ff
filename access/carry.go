// This file carries bytes in one direction of a tunnel. An idle tunnel holds no buffer and no pipe. If a message fills the
// buffer, the kernel moves the rest itself (splice(2)).

package access

import (
	"cmp"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"
)

// bufferSize is the size of a buffer in bytes.
const bufferSize = 32 << 10

// buffers are shared by all tunnels of a process, like the pipes of package net.
type buffers struct{ sync.Pool }

func newBuffers() *buffers {
	return &buffers{sync.Pool{New: func() any { return new([bufferSize]byte) }}}
}

// A direction carries bytes one way through a tunnel. While its goroutine waits, it has few and small stack frames, so that
// its stack needs only 2 KiB.
type direction struct {
	t        *tunnel
	to, from *net.TCPConn
	raw      syscall.RawConn
	buffers  *buffers
	carried  *atomic.Int64
	metric   prometheus.Counter

	// b holds the bytes that were read last, length of them. It is nil while the direction waits. Field failed is the error of
	// the read.
	b      *[bufferSize]byte
	length int
	failed error
}

// run carries bytes, beginning with those in parameter first, until the sender has closed its side. Then it closes the
// receiver's connection for writing. If a socket fails, it ends both connections.
func (d *direction) run(first []byte) {
	err := d.begin(first)
	for err == nil && d.next() {
		err = d.send()
	}
	d.end(cmp.Or(err, d.failed))
}

func (d *direction) begin(first []byte) (err error) {
	if d.raw, err = d.from.SyscallConn(); err != nil || len(first) == 0 {
		return err
	}
	n, err := d.to.Write(first)
	d.count(int64(n))
	return err
}

// next waits for data and reads it. ok is false if there is no more data, or if the sender's socket has failed.
func (d *direction) next() (ok bool) {
	if err := d.raw.Read(d.read); err != nil {
		d.failed = err
	}
	if d.failed == nil && d.length > 0 {
		return true
	}
	d.free()
	return false
}

// read reads once into a buffer. done is false if the kernel has no data yet.
func (d *direction) read(fd uintptr) (done bool) {
	d.b = d.buffers.Get().(*[bufferSize]byte)
	for {
		d.length, d.failed = unix.Read(int(fd), d.b[:])
		if !errors.Is(d.failed, unix.EINTR) {
			break
		}
	}
	if errors.Is(d.failed, unix.EAGAIN) {
		d.failed = nil
		d.free()
		return false
	}
	return true
}

// free gives the buffer back.
func (d *direction) free() {
	if d.b != nil {
		d.buffers.Put(d.b)
		d.b = nil
	}
}

// send sends the bytes that were read. If these filled the buffer, it also sends what the kernel has queued after them.
func (d *direction) send() error {
	written, err := d.to.Write(d.b[:d.length])
	d.free()
	d.count(int64(written))
	for n := bufferSize; err == nil && d.length == bufferSize && n >= bufferSize; {
		if n = d.queued(); n == 0 {
			break
		}
		var sent int64
		sent, err = d.to.ReadFrom(&io.LimitedReader{R: d.from, N: int64(n)})
		d.count(sent)
	}
	return err
}

// queued returns how many bytes the kernel has that were not read yet.
func (d *direction) queued() (n int) {
	_ = d.raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return n
}

func (d *direction) count(n int64) {
	d.carried.Add(n)
	d.metric.Add(float64(n))
	d.t.active.Store(int64(time.Since(d.t.began)))
}

// end ends the direction. If err is nil, all bytes were sent.
func (d *direction) end(err error) {
	if err == nil {
		if err = d.to.CloseWrite(); errors.Is(err, syscall.ENOTCONN) {
			err = nil // The receiver has closed both directions meanwhile.
		}
	}
	if err != nil {
		d.t.abort(d.t.failed(err))
	}
	d.t.ended()
}
