// This file measures what connections hold of memory.

package envoy

import (
	"io"
	"net"
	"regexp"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/envoy/resources"
)

// held is the memory in KiB that connections take: in Envoy's heap, and in the sockets of the kernel.
func (w *world) held(t *testing.T) int {
	t.Helper()
	return (w.allocated(t) + w.sockets(t)) >> 10
}

// sockets is the memory in bytes of the edge's TCP sockets in the kernel.
func (w *world) sockets(t *testing.T) (sum int) {
	t.Helper()
	// See ss(8): what was received, allocated for the future, and queued to be sent.
	for _, m := range regexp.MustCompile(`skmem:\(r(\d+),.*?,f(\d+),w(\d+),`).FindAllStringSubmatch(w.edge.Run(t, "ss", "-Htnm"), -1) {
		for _, part := range m[1:] {
			n, err := strconv.Atoi(part)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			sum += n
		}
	}
	return sum
}

// TestWhatAConnectionTakes: a connection uses at most resources.WorstMemory of Envoy's and the kernel's memory, whatever the client and the
// backend send.
func TestWhatAConnectionTakes(t *testing.T) {
	for name, writes := range map[string]bool{"the client never reads": false, "nor does the backend": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t)
			n, at := w.greedy(t)
			w.serves(t, n, at)
			const readers = 20
			before := w.held(t)
			all := open(t, w.machine, floodPort, readers)
			g.Expect(all).To(HaveLen(readers))
			for _, c := range all {
				// A connection that was read fast at first has large buffers. Then the reader stops.
				_, err := io.CopyN(io.Discard, c, 16<<20)
				g.Expect(err).NotTo(HaveOccurred())
			}
			if writes {
				fill(t, all)
			}
			each := (w.settled(t) - before) / readers
			t.Logf("%d KiB for each", each)
			g.Expect(each).To(BeNumerically("<", resources.WorstMemory>>10))
		})
	}
}

// settled is held, once it grows no more.
func (w *world) settled(t *testing.T) int {
	t.Helper()
	last, same := 0, 0
	NewWithT(t).Eventually(func() bool {
		now := w.held(t)
		if now == last {
			same++
		} else {
			last, same = now, 0
		}
		return same >= 5
	}, patient, "100ms").Should(BeTrue(), "nothing grows any more")
	return last
}

// fill writes to each connection without an end, from its client. It ends with the test.
func fill(t *testing.T, all []net.Conn) {
	t.Helper()
	for _, c := range all {
		go func() {
			for b := make([]byte, 64<<10); ; {
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		}()
	}
}
