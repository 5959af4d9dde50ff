package failover

import (
	"reflect"
	"testing"

	. "github.com/onsi/gomega"
)

func TestReadMessage(t *testing.T) {
	g := NewWithT(t)
	m := Message{Phase: Draining, Edge: 2, Plan: "1a2b", Instance: "x", Number: 1<<64 - 1, Peer: "y", Sees: true, Announcements: 3}
	g.Expect(readMessage(m.bytes())).To(Equal(m))
	g.Expect(readMessage([]byte(`{"phase":"serving","instance":"x","number":1,"later":{"a":1}}`))).To(Equal(Message{Phase: Serving, Instance: "x", Number: 1}))
	for _, bad := range []string{``, `{}`, `x`, `{"phase":"sleeping","instance":"x","number":1}`, `{"phase":"serving","number":1}`, `{"phase":"serving","instance":"x"}`, `{"phase":"serving","instance":"x","number":1,"announcements":-1}`,
		`{"phase":"serving","instance":"x","number":1,"outdone":"x"}`} {
		_, err := readMessage([]byte(bad))
		g.Expect(err).To(HaveOccurred(), bad)
	}
}

// TestFrozenMessage: during an upgrade, the peer runs another version, and both must read each other's messages. Later versions must read
// these bytes as this one does. If they add fields, add them to this test.
func TestFrozenMessage(t *testing.T) {
	g := NewWithT(t)
	const frozen = `{"phase":"draining","edge":2,"plan":"1a2b","instance":"x","number":7,"peer":"y","sees":true,"announcements":3,` +
		`"level":"reaches","generation":1772600767000,"peerGeneration":1772600768000,"stalls":5,"address":"10.128.0.7","mac":"02:00:00:00:00:01","stale":true,` +
		`"owner":"6b1c2a52-0000-4000-8000-000000000000","incumbent":true,"outdone":"02:00:00:00:00:02"}`
	m, err := readMessage([]byte(frozen))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(m.bytes())).To(Equal(frozen))
	for _, v := range []reflect.Value{reflect.ValueOf(m), reflect.ValueOf(m.Claim)} {
		for i := range v.NumField() {
			g.Expect(v.Field(i).IsZero()).To(BeFalse(), "the message lacks %s", v.Type().Field(i).Name)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"phase":"serving","edge":1,"instance":"x","number":7,"peer":"y","sees":true,"announcements":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := readMessage(b)
		if err != nil {
			return
		}
		again, err := readMessage(m.bytes())
		if err != nil || again != m {
			t.Fatalf("%v: %+v is read as %+v", err, m, again)
		}
	})
}
