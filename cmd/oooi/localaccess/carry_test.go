package localaccess

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// A halves is a connection whose directions end by themselves, without a socket.
type halves struct {
	net.Conn
	in  *io.PipeReader
	out *io.PipeWriter
}

func (h halves) Read(b []byte) (int, error)  { return h.in.Read(b) }
func (h halves) Write(b []byte) (int, error) { return h.out.Write(b) }
func (h halves) CloseWrite() error           { return h.out.Close() }
func (h halves) Close() error                { return errors.Join(h.in.Close(), h.out.CloseWithError(net.ErrClosed)) }

// newHalves returns both ends of a connection.
func newHalves() (near, far halves) {
	var out halves
	near.in, out.out = io.Pipe()
	out.in, near.out = io.Pipe()
	return near, out
}

// TestCarryEndsAfterSilence: once the destination has sent all, a local end that neither sends nor ends is not waited for.
func TestCarryEndsAfterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		near, destination := newHalves()
		program, local := newHalves()
		began := time.Now()
		ended := make(chan error, 1)
		go func() {
			ended <- carry(t.Context(), tunnel{Conn: near}, localEnd{in: local, out: local, closeOut: local.CloseWrite})
		}()
		read := func(from io.Reader, size int) string {
			b := make([]byte, size)
			_, err := io.ReadFull(from, b)
			g.Expect(err).NotTo(HaveOccurred())
			return string(b)
		}
		wait := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
			g.Expect(ended).NotTo(Receive(), "after %s", time.Since(began))
		}
		wait(time.Hour) // Silence of both is for the edge to end.
		go func() { _, _ = io.WriteString(destination, "bye"); _ = destination.CloseWrite() }()
		g.Expect(read(program, 3)).To(Equal("bye"))
		_, err := program.Read(make([]byte, 1))
		g.Expect(err).To(Equal(io.EOF))

		for range 3 {
			wait(silentWithin - time.Second)
			_, err = io.WriteString(program, "more")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read(destination, 4)).To(Equal("more"), "a program that has all can still send")
		}
		_, err = io.WriteString(program, "slow")
		g.Expect(err).NotTo(HaveOccurred())
		wait(10 * silentWithin)
		g.Expect(read(destination, 4)).To(Equal("slow"), "a destination that is slow is not silence of the program")

		last := time.Now()
		g.Expect(<-ended).To(Succeed())
		g.Expect(time.Since(last)).To(Equal(silentWithin))
		_, err = destination.Read(make([]byte, 1))
		g.Expect(err).To(Equal(net.ErrClosed))
		_ = errors.Join(program.Close(), local.Close(), destination.Close())
	})
}
