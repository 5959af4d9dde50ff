package dns

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/dnsnames"
	"github.com/cldmnky/oooi/test/programs"
)

// TestChangesLoseNoQuestion: while the plan and the leases change 200 times, or 1,000 times in the long run, each question is
// answered, from a plan and leases that were in force. In the end, the last ones are.
func TestChangesLoseNoQuestion(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "leases.json")
	h, at := served(t, judged(), Options{VMs: sharedfiles.NewLeaseNames(file, slog.New(slog.NewTextHandler(t.Output(), nil)))})
	var ended atomic.Bool
	var asked atomic.Int64
	var asking sync.WaitGroup
	for i := range 8 {
		asking.Go(func() {
			c := &dns.Client{Net: []string{"udp", "udp", "udp", "tcp"}[i%4], Timeout: longest}
			conn, err := c.Dial(at.String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			for n := 0; !ended.Load(); n++ {
				name, may := "api.blue.example.com.", []int{dns.RcodeSuccess}
				if n%2 == 0 {
					name, may = []string{"changes", "vm"}[n/2%2]+".blue.example.com.", []int{dns.RcodeSuccess, dns.RcodeNameError}
				}
				r, _, err := c.ExchangeWithConn(new(dns.Msg).SetQuestion(name, dns.TypeA), conn)
				if err != nil {
					t.Errorf("%s by %s: %v", name, c.Net, err)
					return
				}
				if r.Rcode != may[0] && r.Rcode != may[len(may)-1] || (r.Rcode == dns.RcodeSuccess) != (len(r.Answer) == 1) {
					t.Errorf("%s by %s: %v", name, c.Net, r)
				}
				asked.Add(1)
			}
		})
	}
	changes := 100
	if programs.Long() {
		changes = 500
	}
	for i := range changes {
		n := judged()
		if i%2 == 0 {
			n.DNS.Views[0].Records = append(n.DNS.Views[0].Records, network.Record{Name: "changes.blue.example.com", Addresses: dnsnames.Addresses("192.168.100.200")})
		}
		h.Serve(n)
		var all []network.Lease
		if i%2 == 0 {
			all = append(all, network.Lease{Address: netip.MustParseAddr("192.168.100.50"), MAC: "02:00:00:00:00:01", VM: "vm", Expires: time.Now().Add(time.Hour)})
		}
		b, err := json.Marshal(all)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sharedfiles.Replace(file, b)).To(Succeed())
		g.Eventually(asked.Load, longest, "1ms").Should(BeNumerically(">=", asked.Load()+16))
	}
	ended.Store(true)
	asking.Wait()
	t.Logf("%d questions, %d changes of the plan and as many of the leases", asked.Load(), changes)
	for _, name := range []string{"changes", "vm"} {
		g.Eventually(func() string {
			r, _, err := (&dns.Client{Timeout: longest}).Exchange(new(dns.Msg).SetQuestion(name+".blue.example.com.", dns.TypeA), at.String())
			return fmt.Sprint(r != nil && r.Rcode == dns.RcodeNameError, err)
		}).Should(Equal("true <nil>"), "%s is in neither the last plan nor the last leases", name)
	}
}
