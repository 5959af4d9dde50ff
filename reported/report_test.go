package reported_test

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

func inUse(address, mac string) reported.UsedAddress {
	return reported.UsedAddress{Address: netip.MustParseAddr(address), MAC: mac}
}

// TestEqualReports: a report is written only when it changes.
func TestEqualReports(t *testing.T) {
	g := NewWithT(t)
	a, b := inUse("192.168.100.2", "02:00:00:00:00:01"), inUse("192.168.100.3", "02:00:00:00:00:02")
	one := reported.EdgeReport{Edge: 1, Peer: "serving", Degraded: reported.Degradation{Cause: problem.FailoverTargetsAnswered}, AddressesInUse: []reported.UsedAddress{b, a, b}}
	other := reported.EdgeReport{Edge: 1, Peer: "serving", Degraded: reported.Degradation{Cause: problem.FailoverTargetsAnswered}, AddressesInUse: []reported.UsedAddress{a, b}}
	g.Expect(string(one.JSON())).To(Equal(string(other.JSON())))
	g.Expect(one.AddressesInUse).To(HaveLen(3), "what was told is left as it is")
	g.Expect(reported.Read(one.JSON())).To(Equal(other))
}

func TestReadReport(t *testing.T) {
	for what, c := range map[string]struct {
		text  string
		wrong bool
	}{
		"of a newer edge":           {text: `{"edge":2,"peer":"unreachable","colour":"blue"}`},
		"of the pod that asks":      {text: `{"edge":0,"addressesInUse":[{"address":"192.168.100.2","mac":"02:00:00:00:00:01"}]}`},
		"empty":                     {text: ``, wrong: true},
		"no object":                 {text: `[]`, wrong: true},
		"no such edge":              {text: `{"edge":3}`, wrong: true},
		"no edge at all":            {text: `{"edge":-1}`, wrong: true},
		"a word for an address":     {text: `{"addressesInUse":[{"address":"router","mac":"02:00:00:00:00:01"}]}`, wrong: true},
		"an address without a word": {text: `{"addressesInUse":[{"mac":"02:00:00:00:00:01"}]}`, wrong: true},
		"IPv6":                      {text: `{"addressesInUse":[{"address":"fd00::2","mac":"02:00:00:00:00:01"}]}`, wrong: true},
		"a word for a MAC":          {text: `{"addressesInUse":[{"address":"192.168.100.2","mac":"the router's own!"}]}`, wrong: true},
		"longer than any":           {text: `{"edge":1,"peer":"` + strings.Repeat("x", 10_000) + `"}`, wrong: true},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			_, err := reported.Read([]byte(c.text))
			if c.wrong {
				g.Expect(err).To(MatchError(HavePrefix("not a report: ")))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

// TestReportStaysReadable: it is shown in a condition, whatever an edge wrote.
func TestReportStaysReadable(t *testing.T) {
	g := NewWithT(t)
	r := reported.EdgeReport{Edge: 1, Degraded: reported.Degradation{Cause: "Newer", Error: "a\nb\x00c " + strings.Repeat("ä", 10_000)}}
	for i := range 100 {
		r.AddressesInUse = append(r.AddressesInUse, reported.UsedAddress{Address: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), MAC: "02:00:00:00:00:01"})
	}
	read, err := reported.Read(r.JSON())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.Degraded.Cause).To(Equal(problem.FailoverCheckFailed))
	g.Expect(read.Degraded.Error).To(HavePrefix("Newer: a b c ää"))
	g.Expect(len([]rune(read.Degraded.Error))).To(BeNumerically("<", 500))
	g.Expect(len(read.AddressesInUse)).To(BeNumerically("<=", 16))
}

// TestReportOfTheFailoverAgent: what it reports is read as it was written. Values that no
// edge of this version writes are dropped, and the rest of the report is kept.
func TestReportOfTheFailoverAgent(t *testing.T) {
	for text, want := range map[string]reported.EdgeReport{
		`{"edge":1,"level":"reaches","peer":"impaired","peerSilent":true,"peerSince":"2026-11-22T07:30:00.9+01:00","plansDiffer":true,"peerDuplicated":true,"yields":true}`: {
			Edge: 1, Level: reported.LevelReaches, Peer: reported.PeerImpaired, PeerSilent: true, PlansDiffer: true, PeerDuplicated: true, Yields: true},
		`{"edge":1,"level":"excellent","peer":"serving"}`: {Edge: 1, Peer: reported.PeerServing},
	} {
		g := NewWithT(t)
		r, err := reported.Read([]byte(text))
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(r).To(Equal(want))
		g.Expect(reported.Read(r.JSON())).To(Equal(want))
	}
	for text, misses := range map[string]bool{
		`{"edge":1,"peer":"unreachable"}`:            true,
		`{"edge":1,"peer":"idle","peerSilent":true}`: true, `{"edge":1,"peer":"impaired"}`: false,
	} {
		r, err := reported.Read([]byte(text))
		if err != nil || r.MissesPeer() != misses {
			t.Errorf("%s: misses its peer: %v, %v", text, r.MissesPeer(), err)
		}
	}
}

// FuzzReadReport: any text is a report or an error, and what is read is written
// and read again as it is.
func FuzzReadReport(f *testing.F) {
	f.Add([]byte(`{"edge":1,"sibling":"serves","slowTakeover":"x","addressesInUse":[{"address":"192.168.100.2","mac":"02:00:00:00:00:01"}]}`))
	f.Add([]byte(`{"edge":1,"addressesInUse":[{"address":"::ffff:10.0.0.1","mac":"02:00:00:00:00:01"},{}]}`))
	f.Add([]byte(`{"edge":1,"degraded":{"cause":"FailoverAnnouncementIgnored","arpAnnounce":2,"source":"fe80::1%eth0"}}`))
	f.Add([]byte(`{"edge":1,"level":"serves","peer":"impaired","peerSilent":true,"peerSince":"9999-12-31T23:59:59-23:00","yields":true}`))
	f.Add([]byte(`{"edge":1,"boots":[{"vm":"a\u0000","since":"9999-12-31T23:59:59-23:00","seen":{"lease":-1,"tea":2}},{"vm":"b","since":"2026-03-04T05:06:07.5+01:00","seen":{"api":99999999}}],"bootsOmitted":-1}`))
	f.Add([]byte("{\"sibling\":\"\\u0000\xff \\n\"}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := reported.Read(b)
		if err != nil {
			return
		}
		again, err := reported.Read(r.JSON())
		if err != nil || !bytes.Equal(again.JSON(), r.JSON()) {
			t.Errorf("%q is read as %q, then %q, %v", b, r.JSON(), again.JSON(), err)
		}
		for _, p := range reported.InUseByOthers(vlan100(), r.AddressesInUse) {
			if strings.ContainsFunc(message(p), func(x rune) bool { return x < ' ' }) {
				t.Errorf("not plain words: %q", message(p))
			}
		}
	})
}

// TestProbedAddresses: they are the same for one and for two edges. The last edge address is
// the source of the probes.
func TestProbedAddresses(t *testing.T) {
	g := NewWithT(t)
	n := vlan100()
	n.PublishedAddresses = []netip.Addr{netip.MustParseAddr("203.0.113.7")}
	asked := []netip.Addr{netip.MustParseAddr("192.168.100.2"), netip.MustParseAddr("192.168.100.3"), netip.MustParseAddr("192.168.100.4")}
	last := netip.MustParseAddr("192.168.100.5")
	g.Expect(n.ReservedAddresses).To(HaveExactElements(last), "it has one edge")
	g.Expect(reported.ProbedAddresses(n)).To(Equal(asked))
	g.Expect(reported.ProbeAddress(n)).To(Equal(last))
	n.Edges, n.ReservedAddresses = append(n.Edges, network.Edge{Number: 2, Address: last}), nil
	g.Expect(reported.ProbedAddresses(n)).To(Equal(asked))
	g.Expect(reported.ProbeAddress(n)).To(Equal(last))
}

// TestInUseByOthers: the problem names the host, its address and the key to change.
func TestInUseByOthers(t *testing.T) {
	n := vlan100()
	const mac = "02:00:00:00:00:01"
	for address, says := range map[string]string{
		"192.168.100.2": "The next-hop VIP 192.168.100.2 of network clusters/vlan100 is already in use by MAC " + mac,
		"192.168.100.3": "The service VIP 192.168.100.3 of",
		"192.168.100.4": "The edge 1 address 192.168.100.4 of",
	} {
		t.Run(address, func(t *testing.T) {
			g := NewWithT(t)
			ps := reported.InUseByOthers(n, []reported.UsedAddress{inUse(address, mac)})
			g.Expect(ps).To(HaveExactElements(And(HaveField("Reason", problem.AddressInUse), HaveField("Keys", ContainElement("edge-addresses")), HaveField("Blocks()", true))))
			g.Expect(message(ps[0])).To(And(ContainSubstring(says), ContainSubstring("Free the address, or set annotation edge-addresses to")))
		})
	}
	t.Run("in an order, each once", func(t *testing.T) {
		g := NewWithT(t)
		ps := reported.InUseByOthers(n, []reported.UsedAddress{inUse("192.168.100.3", mac), inUse("192.168.100.2", mac), inUse("192.168.100.3", mac)})
		g.Expect(ps).To(HaveExactElements(WithTransform(message, HavePrefix("The next-hop VIP")), WithTransform(message, HavePrefix("The service VIP"))))
	})
	t.Run("what is not asked for, or not any more", func(t *testing.T) {
		NewWithT(t).Expect(reported.InUseByOthers(n, []reported.UsedAddress{inUse("192.168.100.66", mac), inUse("192.168.100.5", mac), {}})).To(BeEmpty())
	})
	t.Run("a further network keeps nothing else waiting", func(t *testing.T) {
		g, further := NewWithT(t), n
		further.Primary = false
		ps := reported.InUseByOthers(further, []reported.UsedAddress{inUse("192.168.100.3", mac)})
		g.Expect(ps).To(HaveLen(1))
		g.Expect(ps.Blocking()).To(BeFalse())
	})
}

// TestFailoverDegraded: the message has the values of its cause and the fix, and nothing is blocked.
func TestFailoverDegraded(t *testing.T) {
	for says, d := range map[string]reported.Degradation{
		"(arp_announce is 2)":                       {Cause: problem.FailoverAnnouncementIgnored, ARPAnnounce: 2, Source: netip.MustParseAddr("192.168.100.5")},
		"cannot announce service VIP 192.168.100.3": {Cause: problem.FailoverAnnouncementIgnored, ARPAnnounce: 2, Source: netip.MustParseAddr("192.168.100.2")},
		"proxy ARP":        {Cause: problem.FailoverTargetsAnswered},
		"(no such device)": {Cause: problem.FailoverCheckFailed, Error: "no such device.\n"},
		"(Newer)":          {Cause: "Newer"},
		"(FailoverAnn":     {Cause: problem.FailoverAnnouncementIgnored, ARPAnnounce: 2},
	} {
		t.Run(says, func(t *testing.T) {
			g := NewWithT(t)
			p := reported.FailoverDegraded(vlan100(), 2, problem.Subject{Kind: "Edge", Name: "two"}, d)
			g.Expect(p.Reason).To(Equal(problem.FailoverDegraded))
			g.Expect(p.Severity).To(Equal(problem.SeverityWarning))
			g.Expect(p.Subject.String()).To(Equal("Edge two"))
			g.Expect(message(p)).To(And(ContainSubstring("192.168.100.2"), ContainSubstring("40 to 50 s"), ContainSubstring(says), Not(ContainSubstring("{"))))
		})
	}
}
