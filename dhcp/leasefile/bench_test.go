// This file measures what a durable lease costs.

package leasefile_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/dhcp/leasefile"
	"github.com/cldmnky/oooi/network"
)

// BenchmarkLeases replaces leases of 4,000 clients, so many of them at a time.
func BenchmarkLeases(b *testing.B) {
	for _, together := range []int{1, 16, 256} {
		b.Run(fmt.Sprint("together=", together), func(b *testing.B) {
			const clients = 4000
			f, err := leasefile.Open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			lease := func(i int) network.Lease {
				return network.Lease{Address: network.AddressOf(10<<24 + uint32(i)), MAC: fmt.Sprintf("02:00:00:00:%02x:%02x", i>>8, i&0xff),
					VM: fmt.Sprint("blue-worker-", i), Expires: time.Now().Add(time.Hour).UTC(), LeaseTime: network.Duration(time.Hour)}
			}
			write := func(count int) {
				var next atomic.Int64
				var all sync.WaitGroup
				for range min(together, count) {
					all.Go(func() {
						for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
							l := lease(i % clients)
							was, _ := f.At(l.Address)
							if err := f.Replace(b.Context(), was, l); err != nil {
								b.Error(err)
							}
						}
					})
				}
				all.Wait()
			}
			write(clients)
			b.ResetTimer()
			before := used(b)
			write(b.N)
			b.ReportMetric(float64(used(b)-before)/float64(b.N)/1000, "cpu-us/op")
		})
	}
}

// used is the CPU time of the process.
func used(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
