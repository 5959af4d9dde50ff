package inforce_test

import (
	"encoding/json"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/network"
)

func plan(cluster string, edges int, vlans ...string) network.Plan {
	r := network.Request{Cluster: network.Cluster{Namespace: "clusters", Name: cluster, ControlPlaneNamespace: "clusters-" + cluster}, Edges: edges}
	for i, v := range vlans {
		r.Networks = append(r.Networks, network.NetworkRequest{
			Attachment: network.Attachment{Namespace: "clusters", Name: v}, Primary: true,
			CIDR: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, byte(100 + i), 0}), 24),
		})
	}
	d := derive.Derive(r, network.Facts{}, network.Plan{}, nil)
	if len(d.Problems) > 0 {
		panic(d.Problems)
	}
	return d.Draft()
}

// line is what `oooi plan -o json` prints for p.
func line(p network.Plan) string {
	b, err := json.Marshal(map[string]any{"cluster": p.Cluster.String(), "intent": map[string]any{}, "plan": p, "problems": []any{}})
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

func TestReadView(t *testing.T) {
	blue, green := plan("blue", 1, "vlan100"), plan("green", 2, "vlan1", "vlan2")
	refused := `{"cluster":"clusters/red","intent":{},"plan":null,"problems":[{"reason":"CIDRMissing","field":"cidr","detail":"Set it.","blocking":true}]}` + "\n"
	waiting := `{"cluster":"clusters/red","plan":{"cluster":{"namespace":"clusters","name":"red"},"networks":[]},"problems":[]}`
	for name, c := range map[string]struct {
		data string
		s    inforce.Selection
		is   string // cluster, network, edge
		says string
	}{
		"a single plan":        {string(blue.JSON()), inforce.Selection{}, "blue clusters.vlan100 192.168.100.4", ""},
		"one line":             {line(blue), inforce.Selection{}, "blue clusters.vlan100 192.168.100.4", ""},
		"named":                {line(green), inforce.Selection{Cluster: "clusters/green", Network: "clusters.vlan2", Edge: 2}, "green clusters.vlan2 192.168.101.5", ""},
		"one of several":       {line(blue) + refused + line(green), inforce.Selection{Cluster: "clusters/blue"}, "blue clusters.vlan100 192.168.100.4", ""},
		"which cluster":        {line(blue) + line(green), inforce.Selection{}, "", "more than one cluster: set --cluster to clusters/blue|clusters/green"},
		"which network":        {line(green), inforce.Selection{}, "", "more than one network: set --network to clusters.vlan1|clusters.vlan2"},
		"which edge":           {line(green), inforce.Selection{Network: "clusters.vlan1"}, "", "more than one edge: set --edge to 1|2"},
		"no such cluster":      {line(blue), inforce.Selection{Cluster: "clusters/grey"}, "", "no cluster clusters/grey: there is clusters/blue"},
		"no such network":      {line(blue), inforce.Selection{Network: "x"}, "", "no network x"},
		"no such edge":         {line(blue), inforce.Selection{Edge: 2}, "", "no edge 2: there is 1"},
		"refused":              {refused, inforce.Selection{}, "", "CIDRMissing: Set it."},
		"nothing to serve yet": {waiting, inforce.Selection{}, "", "no network in the plan"},
		"empty":                {"", inforce.Selection{}, "", "no cluster in the plan"},
		"not JSON":             {"hello", inforce.Selection{}, "", "not a plan"},
		"JSON of another kind": {`{"kind":"List"}`, inforce.Selection{}, "", "no cluster in the plan"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v, err := inforce.Read([]byte(c.data), c.s)
			if c.says != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.says)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(v.Cluster.Name + " " + v.Network.Name + " " + v.Edge.Address.String()).To(Equal(c.is))
		})
	}
}

// TestSourceKeepsTheLastKnownGoodPlan until a valid plan arrives.
func TestSourceKeepsTheLastKnownGoodPlan(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "plan.json")
	write := func(b []byte) {
		g.Expect(os.WriteFile(file+".new", b, 0o600)).To(Succeed())
		g.Expect(os.Rename(file+".new", file)).To(Succeed())
	}
	_, err := inforce.New(file, inforce.Selection{}, nil, slog.New(slog.DiscardHandler))
	g.Expect(err).To(MatchError(os.ErrNotExist))
	write(plan("blue", 1, "vlan100").JSON())
	s, err := inforce.New(file, inforce.Selection{}, nil, slog.New(slog.DiscardHandler))
	g.Expect(err).NotTo(HaveOccurred())
	go func() { _ = s.Run(t.Context()) }()
	changed := s.Changed()
	write([]byte("half a pl"))
	g.Consistently(changed, "1500ms").ShouldNot(BeClosed())
	g.Expect(s.Current().Network.Name).To(Equal("clusters.vlan100"))
	next := plan("blue", 1, "vlan100", "vlan200")
	next.Networks[0].DHCP.MTU = 9000
	write(next.JSON())
	g.Eventually(changed, "1m").Should(BeClosed())
	g.Expect(s.Current().Network.DHCP.MTU).To(Equal(9000), "the chosen network is pinned")
}

// TestSourceRemoved: a plan without the edge or its network removes it. An invalid plan
// does not.
func TestSourceRemoved(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "plan.json")
	write := func(b []byte) {
		g.Expect(os.WriteFile(file+".new", b, 0o600)).To(Succeed())
		g.Expect(os.Rename(file+".new", file)).To(Succeed())
	}
	two, one, other := plan("blue", 2, "vlan100"), plan("blue", 1, "vlan100"), plan("blue", 2, "vlan200")
	write(two.JSON())
	s, err := inforce.New(file, inforce.Selection{Edge: 2}, nil, slog.New(slog.DiscardHandler))
	g.Expect(err).NotTo(HaveOccurred())
	go func() { _ = s.Run(t.Context()) }()
	becomes := func(data []byte, removed bool) {
		t.Helper()
		changed := s.Changed()
		write(data)
		g.Eventually(changed, "1m").Should(BeClosed())
		g.Expect(s.Removed()).To(Equal(removed))
		g.Expect(s.Current().Edge.Number).To(Equal(2))
	}
	g.Expect(s.Removed()).To(BeFalse())
	becomes(one.JSON(), true)
	becomes(two.JSON(), false)
	becomes(other.JSON(), true)
	changed := s.Changed()
	write([]byte("half a pl"))
	g.Consistently(changed, "1500ms").ShouldNot(BeClosed())
	g.Expect(s.Removed()).To(BeTrue())
	becomes(two.JSON(), false)
}
