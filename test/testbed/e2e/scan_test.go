// This file shows that the scanner finds what is there and nothing else.

package e2e

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/lan"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("needs root")
	}
	t.Skip("needs root")
}

func TestScanFindsWhatListensInTheNamespace(t *testing.T) {
	needRoot(t)
	g := NewWithT(t)
	name := fmt.Sprintf("oooi-scan%d", os.Getpid())
	g.Expect(lan.NewNetNS(name)).To(Succeed())
	t.Cleanup(func() { _ = lan.DeleteNetNS(name) })
	path := lan.NetNSPath(name)
	g.Expect(exec.Command("nsenter", "--net="+path, "ip", "link", "set", "lo", "up").Run()).To(Succeed())
	g.Expect(lan.InNetNS(path, func() error {
		for _, a := range []string{"127.0.0.1:443", "127.0.0.1:65535"} {
			l, err := net.Listen("tcp", a)
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = l.Close() })
		}
		echo, err := net.ListenPacket("udp", "127.0.0.1:53")
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = echo.Close() })
		go func() {
			b := make([]byte, 512)
			for {
				n, from, err := echo.ReadFrom(b)
				if err != nil {
					return
				}
				_, _ = echo.WriteTo(b[:n], from)
			}
		}()
		clock, err := net.ListenPacket("udp", "127.0.0.1:123") // answers clients that ask for the time, as RFC 5905 has it
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = clock.Close() })
		go func() {
			b := make([]byte, 512)
			for {
				n, from, err := clock.ReadFrom(b)
				if err != nil {
					return
				}
				if n == 48 && b[0]&7 == 3 {
					_, _ = clock.WriteTo(b[:n], from)
				}
			}
		}()
		mute, err := net.ListenPacket("udp", "127.0.0.1:67") // receives datagrams, and answers no client
		if err == nil {
			t.Cleanup(func() { _ = mute.Close() })
		}
		return err
	})).To(Succeed())

	scan := Scan{NetNS: path, Patience: time.Second, Parallel: 16}
	here := netip.MustParseAddr("127.0.0.1")
	tcp, err := scan.TCP(t.Context(), here, Every())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tcp).To(Equal([]uint16{443, 65535}))
	udp, err := scan.UDP(t.Context(), here, []uint16{52, 53, 54, 67, 123, 124})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(udp).To(Equal([]uint16{53, 123}))

	_, err = Scan{NetNS: path + "-not", Parallel: 2}.TCP(t.Context(), here, []uint16{1, 2, 3})
	g.Expect(err).To(HaveOccurred())
}
