// This file tests that operator and edges of adjacent releases understand each other. What both know is not changed by what only
// the newer one knows.

package formats

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/network/resolvconf"
	"github.com/cldmnky/oooi/reported"
)

// nextRelease adds a field to each object in text, as the next release may. The keys of nodeSelectors are the user's, and those of seen
// are boot steps.
func nextRelease(t *testing.T, text string) string {
	t.Helper()
	g := NewWithT(t)
	var all any
	g.Expect(json.Unmarshal([]byte(text), &all)).To(Succeed())
	var add func(any)
	add = func(x any) {
		switch x := x.(type) {
		case []any:
			for _, v := range x {
				add(v)
			}
		case map[string]any:
			for key, v := range x {
				if key != "nodeSelectors" && key != "seen" {
					add(v)
				}
			}
			x["laterField"] = map[string]any{"a": []any{1, "b"}}
		}
	}
	add(all)
	out, err := json.Marshal(all)
	g.Expect(err).NotTo(HaveOccurred())
	return string(out)
}

func storedPlan(t *testing.T) string { return stored(t, "../../network/testdata/plans")["1.json"] }

// TestPlanOfTheNextRelease: an edge serves a plan with fields, a server and a mode that it does not know. It never asks servers
// because of a mode that it does not know.
func TestPlanOfTheNextRelease(t *testing.T) {
	g := NewWithT(t)
	text := storedPlan(t)
	want, err := inforce.Read([]byte(text), inforce.Selection{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(inforce.Read([]byte(nextRelease(t, text)), inforce.Selection{})).To(Equal(want))

	p, err := network.ReadPlan([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	n := &p.Networks[0]
	n.Services, n.DNS.Upstreams.Mode = append(n.Services, "later"), "later"
	v, err := inforce.Read(p.JSON(), inforce.Selection{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(v.Network.Listeners).To(Equal(want.Network.Listeners))
	g.Expect(answers.Servers(v.Network, resolvconf.File{Servers: n.UpstreamServers()})).To(BeEmpty())
}

// TestPlanOfANewerFormat: an edge serves its last plan while the operator writes a format that the edge does not know, and
// follows the next plan that it can read.
func TestPlanOfANewerFormat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		file := filepath.Join(t.TempDir(), "plan.json")
		write := func(mtu int, version string) {
			p, err := network.ReadPlan([]byte(storedPlan(t)))
			g.Expect(err).NotTo(HaveOccurred())
			p.Networks[0].DHCP.MTU = mtu
			text := string(p.JSON())
			g.Expect(text).To(ContainSubstring(`"version": 1`))
			g.Expect(sharedfiles.Replace(file, []byte(strings.Replace(text, `"version": 1`, `"version": `+version, 1)))).To(Succeed())
		}
		write(1400, "1")
		s, err := inforce.New(file, inforce.Selection{}, nil, slog.New(slog.DiscardHandler))
		g.Expect(err).NotTo(HaveOccurred())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		mtu := func() int {
			<-time.After(time.Minute)
			return s.Current().Network.DHCP.MTU
		}
		write(1500, "2")
		g.Expect(mtu()).To(Equal(1400))
		write(1600, "1")
		g.Expect(mtu()).To(Equal(1600))
		stop()
		g.Expect(<-ended).To(Succeed())
	})
}

// TestReportOfTheNextRelease: the operator reads the report of an edge with fields and values that it does not know, and takes
// none of them for one that it knows.
func TestReportOfTheNextRelease(t *testing.T) {
	g := NewWithT(t)
	text := stored(t, "../../reported/testdata")["report-1.json"]
	want, err := reported.Read([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reported.Read([]byte(nextRelease(t, text)))).To(Equal(want))
	r, err := reported.Read([]byte(`{"edge":1,"level":"later","connected":"later","believes":["Later"],"degraded":{"cause":"Later"},` +
		`"notServing":[{"server":"later","cause":"Later"},{"server":"dns","cause":"Later"}]}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r).To(Equal(reported.EdgeReport{
		Edge: 1, Degraded: reported.Degradation{Cause: problem.FailoverCheckFailed, Error: "Later"},
		NotServing: []reported.ServerFault{{Server: network.ServiceDNS, Cause: problem.ServerRefuses, Error: "Later"}},
	}), "a fault with an unknown cause is still a fault")
}
