package ntp

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/facebook/time/ntp/protocol"
	. "github.com/onsi/gomega"
)

// asked is a question as chronyd sends it: version 4, a random time.
func asked() []byte {
	b := make([]byte, protocol.PacketSizeBytes)
	b[0], b[2] = 0<<6|4<<3|modeClient, 6
	binary.BigEndian.PutUint64(b[40:], 0x83aa7e80_12345678)
	return b
}

// first is asked with another first byte: leap, version and mode.
func first(leap, version, mode byte) []byte {
	b := asked()
	b[0] = leap<<6 | version<<3 | mode
	return b
}

func TestOnlyClientsAsk(t *testing.T) {
	for _, c := range []struct {
		why      string
		datagram []byte
		want     bool
	}{
		{"version 4", asked(), true},
		{"version 3, as systemd-timesyncd once sent", first(0, 3, 3), true},
		{"version 1", first(0, 1, 3), true},
		{"a client that announces a leap second, as ntpd does", first(1, 4, 3), true},
		{"a client that is not synchronized", first(3, 4, 3), true},
		{"with extension fields or a MAC", append(asked(), make([]byte, 20)...), true},
		{"symmetric active", first(0, 4, 1), false},
		{"symmetric passive", first(0, 4, 2), false},
		{"a server's answer", first(0, 4, 4), false},
		{"a broadcast", first(0, 4, 5), false},
		{"control, as ntpq sends it", first(0, 2, 6), false},
		{"private, as ntpdc sends it: monlist", first(0, 2, 7), false},
		{"mode 0", first(0, 1, 0), false},
		{"version 0", first(0, 0, 3), false},
		{"version 5", first(0, 5, 3), false},
		{"too short", asked()[:47], false},
		{"not of words", append(asked(), 0), false},
		{"empty", nil, false},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, got := Client(c.datagram)
			NewWithT(t).Expect(got).To(Equal(c.want))
		})
	}
}

func TestReply(t *testing.T) {
	g := NewWithT(t)
	q, ok := Client(first(1, 3, modeClient))
	g.Expect(ok).To(BeTrue())
	received := time.Date(2036, 2, 7, 6, 28, 15, 750_000_000, time.UTC) // The last second of NTP's first era.
	sent := received.Add(time.Second)
	b := encoded(Reply(q, State{Synchronized: true, Leap: LeapDeleted, MaxError: 1500 * time.Millisecond}, received, sent))

	g.Expect(b).To(HaveLen(48))
	g.Expect(b[0]).To(Equal(byte(2<<6|3<<3|4)), "the leap of this server, the version of the question, mode server")
	g.Expect(b[1]).To(BeNumerically("~", 8, 7), "a stratum that clients accept")
	g.Expect(b[2]).To(Equal(byte(6)), "the poll interval of the question")
	g.Expect(b[4:8]).To(Equal([]byte{0, 0, 0, 0}))
	g.Expect(b[8:12]).To(Equal([]byte{0, 1, 0x80, 0}), "a root dispersion of 1.5 s")
	g.Expect(b[24:32]).To(Equal(asked()[40:48]), "the origin is the question's")
	g.Expect(b[16:24]).To(Equal([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}), "a reference time before the answer")
	g.Expect(b[32:40]).To(Equal([]byte{0xff, 0xff, 0xff, 0xff, 0xc0, 0, 0, 0}))
	g.Expect(b[40:48]).To(Equal([]byte{0, 0, 0, 0, 0xc0, 0, 0, 0}), "the next era")
}

// TestRootDispersion: it is never below the error, and clients refuse the largest.
func TestRootDispersion(t *testing.T) {
	for d, want := range map[time.Duration]uint32{
		0: 0, -time.Second: 0, 1: 1, time.Microsecond: 1, time.Second: 1 << 16, 16 * time.Second: 16 << 16, time.Hour: 16 << 16,
	} {
		NewWithT(t).Expect(short(d)).To(Equal(want), d.String())
	}
}

func TestKiss(t *testing.T) {
	g := NewWithT(t)
	q, _ := Client(asked())
	b := encoded(Kiss(q))
	g.Expect(b).To(HaveLen(48))
	g.Expect(b[0]).To(Equal(byte(3<<6|4<<3|4)), "leap: unknown")
	g.Expect(b[1]).To(BeZero())
	g.Expect(string(b[12:16])).To(Equal("INIT"))
	g.Expect(b[2]).To(Equal(byte(6)), "the poll interval of the question")
	g.Expect(b[24:32]).To(Equal(asked()[40:48]))
}

// FuzzAnswer: the server sends at most what it was asked with, to clients only, and is never a client itself.
func FuzzAnswer(f *testing.F) {
	for mode := range byte(8) {
		f.Add(first(0, 4, mode), true)
		f.Add(append(first(0, 2, mode), make([]byte, 24)...), false)
	}
	f.Fuzz(func(t *testing.T, datagram []byte, synchronized bool) {
		s := newTestServer(t, State{Synchronized: synchronized})
		before := slices.Clone(datagram)
		l, now, answers := NewLimiter(), time.Unix(1_800_000_000, 0), 0
		for range limit + 64 {
			b, o := s.answer(l, datagram, vm, now, now)
			if !slices.Equal(datagram, before) {
				t.Fatal("the question was changed")
			}
			if b == nil {
				continue
			}
			answers++
			if len(b) > len(datagram) || datagram[0]&7 != modeClient || b[0]&7 != modeServer {
				t.Fatalf("%d bytes of mode %d for %d bytes of mode %d (%s)", len(b), b[0]&7, len(datagram), datagram[0]&7, o)
			}
			if told := b[1] != 0 && b[0]>>6 != 3; told != (o == answered) || told && !synchronized {
				t.Fatal(fmt.Sprint("time told: ", told, ", outcome ", o))
			}
		}
		if answers > limit+48 {
			t.Fatalf("%d of 64 questions above the limit are answered", answers-limit)
		}
	})
}
