package access

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// TestTunnel: bytes go both ways, those behind the request too, each side may end first, and the log has one line about it.
func TestTunnel(t *testing.T) {
	g, s := NewWithT(t), newSite(t, nil)
	s.vm("192.168.100.50:10250", echo)
	c := s.caller(s.at, "CONNECT worker-1.blue.example.com:10250 HTTP/1.1\r\nHost: x\r\n\r\nbefore")
	status, _ := s.response(c)
	g.Expect(status).To(Equal(200))
	_, err := io.WriteString(c, ", after")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.CloseWrite()).To(Succeed())
	all, err := io.ReadAll(c)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(all)).To(Equal("before, after"), "the answer comes after the caller's end")
	g.Eventually(s.tunnelsEnded).Should(HaveLen(1))
	x := s.tunnelsEnded()[0]
	g.Expect(x.Caller.String()).To(Equal(c.LocalAddr().String()))
	g.Expect(x.Asked).To(Equal("worker-1.blue.example.com:10250"))
	g.Expect(x.Target).To(Equal(Target{Name: "nodes", Port: 10250, VMs: true}))
	g.Expect(x.Dialed.String()).To(Equal("192.168.100.50:10250"))
	g.Expect([]int64{x.Sent, x.Received}).To(Equal([]int64{13, 13}))
	g.Expect(x.End).To(Equal(Closed))
	g.Expect(x.Took).To(BeNumerically(">", 0))

	s.vm("192.168.100.60:5432", hello)
	c, status, _ = s.connect("192.168.100.60:5432")
	g.Expect(status).To(Equal(200))
	line, err := bufio.NewReader(c).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(line).To(Equal("hello\n"), "the destination speaks first")
	_ = c.Close()
	g.Eventually(func() string { return s.metric("oooi_access_tunnels_ended_total") }).Should(Equal("closed 2"))
	g.Expect(s.metric("oooi_access_bytes_total")).To(Equal("callers 19, destinations 13"))
	g.Expect(s.metric("oooi_access_requests_total")).To(Equal("opened 2"))
	g.Expect(s.metric("oooi_access_tunnels") + s.metric("oooi_access_waiting")).To(BeEmpty())
	families, err := s.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(promlint.NewWithMetricFamilies(families).Lint()).To(BeEmpty())
}

// TestBulk: megabytes arrive unchanged in both directions at once, also through splice.
func TestBulk(t *testing.T) {
	g, s := NewWithT(t), newSite(t, nil)
	s.vm("192.168.100.50:22", echo)
	c, status, _ := s.connect("worker-1:22")
	g.Expect(status).To(Equal(200))
	data := make([]byte, 8<<20)
	for i := range data {
		data[i] = byte(i ^ i>>8 ^ i>>16)
	}
	go func() { _, _ = c.Write(data); _ = c.CloseWrite() }()
	all, err := io.ReadAll(c)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes.Equal(all, data)).To(BeTrue())
	g.Eventually(s.tunnelsEnded).Should(HaveLen(1))
	g.Expect([]int64{s.tunnelsEnded()[0].Sent, s.tunnelsEnded()[0].Received}).To(Equal([]int64{8 << 20, 8 << 20}))
}

// TestRefusals: each has its status, says why, and dials nothing.
func TestRefusals(t *testing.T) {
	g, s := NewWithT(t), newSite(t, nil)
	for authority, want := range map[string]int{"worker-3:10250": 403, "worker-1:23": 403, "127.0.0.1:10250": 502, "[::1]:10250": 403, "a@worker-1:10250": 400, "empty.example.com:10250": 502} {
		_, status, body := s.connect(authority)
		g.Expect(status).To(Equal(want), authority)
		g.Expect(body).To(HaveSuffix("\n"))
	}
	g.Expect(s.tunnelsEnded()).To(BeEmpty())
	for authority, why := range map[string]string{"worker-3:10250": "no VM with a DHCP lease has this name or address\n", "worker-3:23": "the destination is not open\n"} {
		_, _, body := s.connect(authority)
		g.Expect(body).To(Equal(why), "if the entry nodes is right, users look for the VM, and not for the annotation")
	}
	g.Expect(s.metric("oooi_access_requests_total")).To(ContainSubstring("no-vm 2"))
	c := s.caller(s.at, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	status, _ := s.response(c)
	g.Expect(status).To(Equal(405))
	s.Set(Policy{})
	_, status, _ = s.connect("worker-1:10250")
	g.Expect(status).To(Equal(403), "nothing is open")
}

// TestAnotherHost: a host that has taken the address of a VM gets nothing. Another VM serves the ingress, and an address of the plan
// is the user's.
func TestAnotherHost(t *testing.T) {
	g, s := NewWithT(t), newSite(t, nil)
	s.thief = netip.MustParseAddr("192.168.100.50")
	s.vm("192.168.100.50:10250", func(c *net.TCPConn) {
		if n, _ := c.Read(make([]byte, 1)); n > 0 {
			t.Error("the other host got a byte")
		}
	})
	s.vm("192.168.100.50:30443", echo)
	s.vm("192.168.100.51:30443", hello)
	_, status, body := s.connect("worker-1:10250")
	g.Expect(status).To(Equal(502))
	g.Expect(body).To(Equal("the destination does not answer: another host\n"))
	c, status, _ := s.connect("console.apps.blue.example.com:443")
	g.Expect(status).To(Equal(200))
	g.Expect(bufio.NewReader(c).ReadString('\n')).To(Equal("hello\n"))
	s.mu.Lock()
	s.thief = netip.MustParseAddr("192.168.100.60")
	s.mu.Unlock()
	s.vm("192.168.100.60:5432", hello)
	_, status, _ = s.connect("192.168.100.60:5432")
	g.Expect(status).To(Equal(200))
}

// TestAnswersAreCounted: callers of a destination that refuses them, and that keep their connections open, count until these are closed.
func TestAnswersAreCounted(t *testing.T) {
	g, s := NewWithT(t), newSite(t, func(s *site) { s.limits.tunnels = 4 })
	s.vms["192.168.100.50:10250"] = "127.0.0.1:1" // Nothing listens there.
	var open []*net.TCPConn
	for range 2 {
		c, status, _ := s.connect("worker-1:10250")
		g.Expect(status).To(Equal(502))
		open = append(open, c)
	}
	_, status, _ := s.connect("worker-1:10250")
	g.Expect(status).To(Equal(503), "one caller cannot use up the open files")
	for _, c := range open {
		g.Expect(c.Close()).To(Succeed())
	}
	g.Eventually(func() string { return s.metric("oooi_access_tunnels") }).Should(BeEmpty())
	_, status, _ = s.connect("worker-1:10250")
	g.Expect(status).To(Equal(502))
}

// TestUnsentBytes: bytes that a destination did not take are not counted.
func TestUnsentBytes(t *testing.T) {
	g, s := NewWithT(t), newSite(t, nil)
	s.vm("192.168.100.50:22", echo)
	c, _, _ := s.connect("worker-1:22")
	g.Expect(c.Close()).To(Succeed())
	x := &tunnel{caller: c, destination: c, began: time.Now()}
	d := &direction{t: x, from: c, to: c, buffers: newBuffers(), carried: &x.sent, metric: s.o.Metrics.carried("destinations"), b: new([bufferSize]byte), length: 5}
	g.Expect(d.send()).NotTo(Succeed())
	g.Expect(x.sent.Load()).To(BeZero())
}

// TestAnswerBehindContent: a refused caller that sends more still gets the answer.
func TestAnswerBehindContent(t *testing.T) {
	g, s := NewWithT(t), newSite(t, nil)
	c := s.caller(s.at, "CONNECT worker-3:10250 HTTP/1.1\r\nHost: x\r\n\r\n"+strings.Repeat("x", 32<<10))
	status, body := s.response(c)
	g.Expect(status).To(Equal(403))
	g.Expect(body).To(Equal("no VM with a DHCP lease has this name or address\n"))
}

// TestIdentity: with accounts, only a token of one of them opens a tunnel, and the log has the account and no token.
func TestIdentity(t *testing.T) {
	g, s := NewWithT(t), newSite(t, nil)
	s.vm("192.168.100.50:10250", echo)
	p := blue()
	p.Network.Access.Accounts, p.Network.Access.Audience = []string{"backup/tool"}, blueAudience
	open, _, _ := s.connect("worker-1:10250")
	s.Set(p)
	_, err := open.Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred(), "who opened it is not known")
	asked := func(authority, token string) string {
		var headers []string
		if token != "" {
			headers = append(headers, "Proxy-Authorization: Bearer "+token)
		}
		_, status, body := s.connect(authority, headers...)
		return strings.TrimSpace(fmt.Sprint(status, " ", body))
	}
	good := sign(t, jose.RS256, "RS256", claims(nil))
	g.Expect(asked("worker-1:10250", "")).To(Equal("401 a token is missing"))
	g.Expect(asked("worker-3:10250", "")).To(Equal("401 a token is missing"), "what is open is no business of others")
	g.Expect(asked("worker-1:10250", good)).To(Equal("503 the keys of the API server are not known yet"))
	keys, err := ParseKeys(keySet(t, jose.RS256))
	g.Expect(err).NotTo(HaveOccurred())
	s.keys.Store(&keys)
	g.Expect(s.metric("oooi_access_keys")).To(Equal("1"))
	g.Expect(asked("worker-1:10250", good)).To(Equal("200"))
	g.Expect(asked("worker-3:10250", good)).To(Equal("403 no VM with a DHCP lease has this name or address"))
	other := sign(t, jose.RS256, "RS256", claims(func(c map[string]any) { c["sub"] = "system:serviceaccount:backup:other" }))
	g.Expect(asked("worker-1:10250", other)).To(Equal("403 the ServiceAccount is not admitted"))
	g.Expect(asked("worker-1:10250", sign(t, jose.ES256, "ES256", claims(nil)))).To(Equal("403 the token is refused: the token is not signed by the API server"))
	live, status, _ := s.connect("worker-1:10250", "Proxy-Authorization: Bearer "+good)
	g.Expect(status).To(Equal(200))
	rotated, err := ParseKeys(keySet(t, jose.ES256))
	g.Expect(err).NotTo(HaveOccurred())
	s.keys.Store(&rotated)
	g.Expect(asked("worker-1:10250", sign(t, jose.ES256, "ES256", claims(nil)))).To(Equal("200"))
	g.Expect(asked("worker-1:10250", good)).To(HavePrefix("403 the token is refused"))
	_, err = io.WriteString(live, "x")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.ReadFull(live, make([]byte, 1))
	g.Expect(err).NotTo(HaveOccurred(), "a tunnel outlives the key of its token")

	log := fmt.Sprintf("%+v %+v", s.callersRefused(), s.tunnelsEnded())
	g.Expect(log).To(ContainSubstring("backup/other"))
	g.Expect(log).NotTo(ContainSubstring("eyJ"))
	c, status, _ := s.connect("worker-1:10250", "Proxy-Authorization: Bearer "+sign(t, jose.ES256, "ES256", claims(nil)))
	g.Expect(status).To(Equal(200))
	p.Network.Access.Accounts = []string{"backup/other"}
	s.Set(p)
	_, err = c.Read(make([]byte, 1))
	g.Expect(err).To(MatchError(ContainSubstring("reset")))
}

// TestPlanChange: what the plan no longer opens is cut with a reset, and other tunnels live on.
func TestPlanChange(t *testing.T) {
	g, s := NewWithT(t), newSite(t, nil)
	s.vm("192.168.100.50:10250", echo)
	s.vm("192.168.100.50:22", echo)
	stays, _, _ := s.connect("worker-1:22")
	goes, _, _ := s.connect("worker-1:10250")
	p := blue()
	p.Network.Access.Destinations = p.Network.Access.Destinations[1:]
	s.Set(p)
	_, err := goes.Read(make([]byte, 1))
	g.Expect(err).To(MatchError(ContainSubstring("reset")), "an end would look complete")
	_, err = io.WriteString(stays, "x")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.ReadFull(stays, make([]byte, 1))
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(s.tunnelsEnded).Should(HaveLen(1))
	g.Expect(s.tunnelsEnded()[0].End).To(Equal(NotOpenAnyMore))
	_, status, _ := s.connect("worker-1:10250")
	g.Expect(status).To(Equal(403))
}

// TestPlainPort: bytes of a plain port go to its destination, and a port without one is closed.
func TestPlainPort(t *testing.T) {
	g, s := NewWithT(t), newSite(t, nil)
	s.vm("192.168.100.51:22", hello) // The other VM is silent.
	c := s.caller(s.serve(t.Context(), 2222), "")
	line, err := bufio.NewReader(c).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(line).To(Equal("hello\n"))
	_ = c.Close()
	g.Eventually(s.tunnelsEnded).Should(HaveLen(1))
	g.Expect(s.tunnelsEnded()[0].Listen).To(BeEquivalentTo(2222))
	_, err = s.caller(s.serve(t.Context(), 2223), "").Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred())
	g.Eventually(s.callersRefused).Should(HaveLen(1))
	g.Expect(s.callersRefused()[0].Refusal.Why).To(Equal(NotOpen))
}

// TestEnds: how a tunnel ended is told.
func TestEnds(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newSite(t, func(s *site) { s.limits.idle, s.limits.every = 3*time.Second, time.Hour })
	s.vm("192.168.100.50:22", func(c *net.TCPConn) { _, _ = c.Read(make([]byte, 1)); _ = c.SetLinger(0) })
	s.vm("192.168.100.50:10250", echo)
	last := func() End {
		all := s.tunnelsEnded()
		if len(all) == 0 {
			return ""
		}
		return all[len(all)-1].End
	}
	c, _, _ := s.connect("worker-1:22")
	_, _ = io.WriteString(c, "x")
	_, err := c.Read(make([]byte, 1))
	g.Expect(err).To(MatchError(ContainSubstring("reset")))
	g.Eventually(last).Should(Equal(DestinationReset))
	c, _, _ = s.connect("worker-1:10250")
	abort(c)
	g.Eventually(last).Should(Equal(CallerReset))
	c, _, _ = s.connect("worker-1:10250")
	for range 20 { // Longer than it may be silent.
		_, err = io.WriteString(c, "x")
		g.Expect(err).NotTo(HaveOccurred())
		_, err = io.ReadFull(c, make([]byte, 1))
		g.Expect(err).NotTo(HaveOccurred())
		s.check()
		<-time.After(200 * time.Millisecond)
	}
	g.Expect(last()).To(Equal(CallerReset))
	g.Eventually(func() End { s.check(); return last() }).Should(Equal(Idle))
}
