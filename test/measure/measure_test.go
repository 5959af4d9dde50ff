// A gap is made of single answers, and a fault of real servers is one.

package measure

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/loopback"
	_ "github.com/cldmnky/oooi/test/patience"
)

func TestGaps(t *testing.T) {
	for _, tc := range []struct {
		line string // each 50 ms a question: + answered at once, - never, ~ answered as the last one is
		want Summary
	}{
		{"", Summary{}},
		{"++++", Summary{Asked: 4, LongestGap: 50}},
		{"++-++", Summary{Asked: 5, Failed: map[string]int{"silent": 1}, LongestGap: 100}},
		{"++----+", Summary{Asked: 7, Failed: map[string]int{"silent": 4}, LongestGap: 250, Gaps: []Gap{{At: 50, For: 250}}}},
		{"-----+-----+", Summary{Asked: 12, Failed: map[string]int{"silent": 10}, LongestGap: 300, Gaps: []Gap{{At: 0, For: 250}, {At: 250, For: 300}}}},
		{"+------", Summary{Asked: 7, Failed: map[string]int{"silent": 6}, LongestGap: 300, Gaps: []Gap{{At: 0, For: 300, Open: true}}}},
		{"-------", Summary{Asked: 7, Failed: map[string]int{"silent": 7}, LongestGap: 300, Gaps: []Gap{{At: 0, For: 300, Open: true}}}},
		{"+~~~~~+", Summary{Asked: 7, LongestGap: 300, Gaps: []Gap{{At: 0, For: 300}}}},
	} {
		t.Run(tc.line, func(t *testing.T) {
			s, late := series{short: 200}, 0
			for i, mark := range tc.line {
				at := Milliseconds(50 * i)
				s.ask(at)
				switch mark {
				case '+':
					s.answer(at)
				case '-':
					s.fail("silent")
				case '~':
					late++
				}
			}
			for range late {
				s.answer(s.asked)
			}
			if diff := cmp.Diff(tc.want, s.summary()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAFault takes the servers away and brings them back: one gap each, as long as
// they were away, and one cut of each connection that was to stay.
func TestAFault(t *testing.T) {
	g := NewWithT(t)
	api, stopAPI := serveAPI(g, loopback.Reserve(t).String())
	name, stopDNS := serveDNS(g, "127.0.0.1:0")
	clock, stopNTP := serveNTP(g, "127.0.0.1:0", synchronized)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := Start(ctx, Options{API: api, DNS: name, Question: "api.example.com", NTP: clock, Long: 2, Every: 5 * time.Millisecond, Patience: 5 * time.Second})
	healthy := func(g Gomega) {
		r := m.Report()
		g.Expect(r.TLS.Asked).To(BeNumerically(">", 5))
		g.Expect(r.DNS.Asked).To(BeNumerically(">", 5))
		g.Expect(r.NTP.Asked).To(BeNumerically(">", 5))
		g.Expect(r.Long).To(HaveEach(HaveField("Answers", BeNumerically(">", 2))))
	}
	g.Eventually(healthy).WithTimeout(time.Minute).Should(Succeed())
	g.Expect(m.Report().Long).To(HaveEach(HaveField("Cuts", BeEmpty())))

	stopAPI()
	stopDNS()
	stopNTP()
	refused := func(more int) {
		t.Helper()
		g.Eventually(func(g Gomega) {
			r, enough := m.Report(), HaveField("Failed", HaveKeyWithValue("refused", BeNumerically(">", more)))
			g.Expect(r.TLS).To(enough)
			g.Expect(r.DNS).To(enough)
			g.Expect(r.NTP).To(enough)
		}).WithTimeout(time.Minute).Should(Succeed())
	}
	refused(10) // by now nothing is on its way any more
	gone := m.now()
	refused(100)
	returning := m.now()
	_, stopAPI = serveAPI(g, api)
	defer stopAPI()
	_, stopDNS = serveDNS(g, name)
	defer stopDNS()
	_, stopNTP = serveNTP(g, clock, synchronized)
	defer stopNTP()
	g.Eventually(func(g Gomega) {
		r := m.Report()
		open := ContainElement(HaveField("Open", true))
		g.Expect(r.TLS.Gaps).NotTo(open)
		g.Expect(r.DNS.Gaps).NotTo(open)
		g.Expect(r.NTP.Gaps).NotTo(open)
		g.Expect(r.Long).To(HaveEach(HaveField("Opened", 2)))
	}).WithTimeout(time.Minute).Should(Succeed())
	cancel()

	r := m.Wait()
	for _, s := range []Summary{r.TLS, r.DNS, r.NTP} {
		g.Expect(s.LongestGap).To(BeNumerically(">=", returning-gone), "no answer while nobody served")
		g.Expect(s.Gaps).To(ContainElement(HaveField("For", s.LongestGap)))
	}
	for _, l := range r.Long {
		g.Expect(l.Cuts).To(HaveLen(1))
		g.Expect(l.Cuts[0].Why).To(BeElementOf("closed", "reset"))
		g.Expect(l.Cuts[0].Back).To(BeNumerically(">", 0))
	}
	text, err := json.Marshal(r)
	g.Expect(err).NotTo(HaveOccurred())
	var told struct {
		TLS struct{ LongestGapMs int64 }
	}
	g.Expect(json.Unmarshal(text, &told)).To(Succeed())
	g.Expect(told.TLS.LongestGapMs).To(BeNumerically("~", time.Duration(r.TLS.LongestGap).Milliseconds(), 1))
}

// serveAPI serves HTTPS; stopped, it cuts every connection.
func serveAPI(g *WithT, address string) (string, func()) {
	listener, err := net.Listen("tcp", address)
	g.Expect(err).NotTo(HaveOccurred())
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	s.Listener.Close()
	s.Listener = listener
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	return listener.Addr().String(), func() {
		listener.Close()
		s.CloseClientConnections()
		s.Close()
	}
}

func serveDNS(g *WithT, address string) (string, func()) {
	conn, err := net.ListenPacket("udp", address)
	g.Expect(err).NotTo(HaveOccurred())
	s := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		answer := new(dns.Msg).SetReply(q)
		record, _ := dns.NewRR(q.Question[0].Name + " A 192.0.2.1")
		answer.Answer = append(answer.Answer, record)
		_ = w.WriteMsg(answer)
	})}
	ready := make(chan struct{})
	s.NotifyStartedFunc = func() { close(ready) }
	go func() { _ = s.ActivateAndServe() }()
	<-ready
	return conn.LocalAddr().String(), func() { _ = s.Shutdown() }
}
