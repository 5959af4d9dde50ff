// This file measures what a document costs, whatever else runs on the machine.

package apirewrite_test

import (
	"math"
	"runtime"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

const (
	// grows is how much larger the second document of costGrowsWithSize is. What needs the square of its size costs 1,024 times as much.
	grows = 32
	// most is what it may cost of the first one. What is small fits in the processor's caches, so its bytes cost less.
	most = 10 * grows
)

// costGrowsWithSize runs do with a document of size and with a larger one. The CPU time and the memory that are taken grow with it,
// and not with its square.
func costGrowsWithSize(t *testing.T, name string, size int, do func(size int)) {
	t.Helper()
	g := NewWithT(t)
	cpu, memory := cost(t, func() { do(size) })
	largeCPU, largeMemory := cost(t, func() { do(grows * size) })
	g.Expect(largeCPU.Seconds()/cpu.Seconds()).To(BeNumerically("<", most), "%s: CPU time of %v, and of %v for a document %d times as large", name, cpu, largeCPU, grows)
	g.Expect(largeMemory/memory).To(BeNumerically("<", most), "%s: memory of %.0f bytes, and of %.0f", name, memory, largeMemory)
}

// cost returns the CPU time of this thread, the least of five runs, and the bytes that one run allocates.
func cost(t *testing.T, do func()) (least time.Duration, memory float64) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least = math.MaxInt64
	var before, after runtime.MemStats
	for range 5 {
		runtime.ReadMemStats(&before)
		begin := cpuTime(t)
		do()
		least = min(least, cpuTime(t)-begin)
		runtime.ReadMemStats(&after)
	}
	return least, float64(after.TotalAlloc - before.TotalAlloc)
}

// cpuTime is what this thread ran for.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		t.Fatal(err)
	}
	return time.Duration(at.Nano())
}
