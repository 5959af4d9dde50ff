// This file shows that the machine distinguishes a time server that it would follow from one
// that it would not.

package machine

import (
	"net"
	"net/netip"
	"testing"
	"time"

	ntp "github.com/facebook/time/ntp/protocol"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/lan"
)

// serveTime answers with the time of this host, an hour ahead, as a server with that leap
// indicator and stratum.
func serveTime(t *testing.T, path string, leap, stratum uint8) netip.Addr {
	t.Helper()
	g := NewWithT(t)
	address := netip.MustParseAddr("127.0.0.3")
	var conn net.PacketConn
	g.Expect(lan.InNetNS(path, func() (err error) {
		conn, err = net.ListenPacket("udp4", netip.AddrPortFrom(address, 123).String())
		return err
	})).To(Succeed())
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		for buffer := make([]byte, 512); ; {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			q, err := ntp.BytesToPacket(buffer[:n])
			if err != nil {
				continue
			}
			a := ntp.Packet{Settings: leap<<6 | 4<<3 | 4, Stratum: stratum, OrigTimeSec: q.TxTimeSec, OrigTimeFrac: q.TxTimeFrac}
			a.TxTimeSec, a.TxTimeFrac = ntp.Time(time.Now().Add(time.Hour))
			a.RxTimeSec, a.RxTimeFrac = a.TxTimeSec, a.TxTimeFrac
			if packet, err := a.Bytes(); err == nil {
				_, _ = conn.WriteTo(packet, from)
			}
		}
	}()
	return address
}

func TestMachineAsksForTheTime(t *testing.T) {
	g := NewWithT(t)
	m := testMachine(t, "time")
	server := serveTime(t, m.NetNS(), 0, 8)
	told, err := m.AskTime(t.Context(), server, time.Minute)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(told.Server).To(Equal(server))
	g.Expect(told.Stratum).To(Equal(8))
	g.Expect(told.Offset).To(BeNumerically("~", time.Hour, time.Minute))
}

func TestMachineFollowsNoServerWhoseClockIsNotSet(t *testing.T) {
	g := NewWithT(t)
	m := testMachine(t, "unset")
	_, err := m.AskTime(t.Context(), serveTime(t, m.NetNS(), 3, 0), 2*time.Second)
	g.Expect(err).To(MatchError(And(HavePrefix("NTP server 127.0.0.3: "), ContainSubstring("no eligible servers"))))
}
