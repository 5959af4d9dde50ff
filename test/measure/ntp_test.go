// An answer about the time counts if a client would follow it.

package measure

import (
	"context"
	"net"
	"testing"
	"time"

	ntp "github.com/facebook/time/ntp/protocol"
	. "github.com/onsi/gomega"
)

// synchronized answers as a server of stratum 3.
func synchronized(q ntp.Packet) ntp.Packet {
	seconds, fraction := ntp.Time(time.Now())
	return ntp.Packet{
		Settings: 4<<3 | ntpServer, Stratum: 3, OrigTimeSec: q.TxTimeSec, OrigTimeFrac: q.TxTimeFrac,
		RxTimeSec: seconds, RxTimeFrac: fraction, TxTimeSec: seconds, TxTimeFrac: fraction,
	}
}

func TestOnlyATimeToFollowIsAnAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*ntp.Packet)
		failed string // "" is an answer
	}{
		"stratum 3":                   {func(*ntp.Packet) {}, ""},
		"stratum 15":                  {func(a *ntp.Packet) { a.Stratum = 15 }, ""},
		"a leap second today":         {func(a *ntp.Packet) { a.Settings |= 1 << 6 }, ""},
		"its clock is not set":        {func(a *ntp.Packet) { a.Settings |= 3 << 6 }, "not synchronized"},
		"a kiss code":                 {func(a *ntp.Packet) { a.Stratum = 0 }, "not synchronized"},
		"stratum 16":                  {func(a *ntp.Packet) { a.Stratum = 16 }, "not synchronized"},
		"a question, not an answer":   {func(a *ntp.Packet) { a.Settings = 4<<3 | ntpClient }, "mode 3"},
		"an answer to something else": {func(a *ntp.Packet) { a.OrigTimeFrac++ }, "an answer to another question"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			address, stop := serveNTP(g, "127.0.0.1:0", func(q ntp.Packet) ntp.Packet {
				a := synchronized(q)
				tc.change(&a)
				return a
			})
			defer stop()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			m := Start(ctx, Options{NTP: address, Every: time.Millisecond, Patience: 5 * time.Second})
			g.Eventually(func() int { return m.Report().NTP.Asked }).WithTimeout(time.Minute).Should(BeNumerically(">", 3))
			cancel()
			r := m.Wait()
			if tc.failed == "" {
				g.Expect(r.Failures()).To(BeZero(), "%+v", r.NTP)
				return
			}
			g.Expect(r.NTP.Failed).To(HaveKeyWithValue(tc.failed, r.NTP.Asked))
			g.Expect(r.Failures()).To(Equal(r.NTP.Asked))
		})
	}
}

func serveNTP(g *WithT, address string, answer func(ntp.Packet) ntp.Packet) (string, func()) {
	conn, err := net.ListenPacket("udp", address)
	g.Expect(err).NotTo(HaveOccurred())
	go func() {
		buffer := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			question, err := ntp.BytesToPacket(buffer[:n])
			if err != nil {
				continue
			}
			reply := answer(*question)
			if packet, err := reply.Bytes(); err == nil {
				_, _ = conn.WriteTo(packet, from)
			}
		}
	}()
	return conn.LocalAddr().String(), func() { conn.Close() }
}
