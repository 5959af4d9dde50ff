// Package cost measures how the time of a function grows, for tests that hold on a slow or busy machine, too.
package cost

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Ratio is how many times as much processor time many takes as few. Each runs three times, and its shortest time counts.
// What other goroutines do does not, nor does the garbage collector.
func Ratio(few, many func()) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return float64(shortest(many)) / float64(shortest(few))
}

func shortest(do func()) time.Duration {
	least := time.Duration(0)
	for i := range 3 {
		runtime.GC()
		began := used()
		do()
		if took := max(1, used()-began); i == 0 || took < least {
			least = took
		}
	}
	return least
}

// used is the processor time of this thread. The kernel always knows it.
func used() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}
