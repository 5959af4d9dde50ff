package hcp_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network/problem"
)

// TestInvalidProxy: no VM boots if HyperShift or Ignition cannot parse a proxy URL. The problem does not contain a password.
func TestInvalidProxy(t *testing.T) {
	for proxy, invalid := range map[string]bool{"192.168.100.7:3128": true, "192.168.100.7": true, "us_er:secret@192.168.100.7:3128": true, "": false, "proxy.example.com:3128": true, "socks5://192.168.100.7:1080": true, "http://192.168.100.7": false, "https://192.168.100.7:3129": false} {
		t.Run(proxy, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			for _, both := range []configv1.ProxySpec{{HTTPProxy: "http://192.168.100.7:3128", HTTPSProxy: proxy}, {HTTPProxy: proxy}} {
				o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &both}
				_, problems := translated(o)
				problems = causesOf(problems, problem.HostedProxyInvalid)
				g.Expect(len(problems) > 0).To(Equal(invalid))
				for _, p := range problems {
					g.Expect(message(p)).NotTo(ContainSubstring("cret"))
				}
			}
		})
	}
}

// TestHostedProxy checks that nodes can reach the proxy of the hosted cluster.
func TestHostedProxy(t *testing.T) {
	for name, c := range map[string]struct {
		proxy   string
		given   func(*hcp.Objects)
		problem bool
	}{
		"external":         {"http://user:secret@proxy.example.com:3128", func(*hcp.Objects) {}, true},
		"invalid":          {"http://192.168.100.7:3128 ", func(*hcp.Objects) {}, false},
		"without a scheme": {"proxy.example.com:3128", func(*hcp.Objects) {}, true},
		"on the network":   {"http://192.168.100.7:3128", func(*hcp.Objects) {}, false},
		"with a record":    {"http://proxy.example.com:3128", func(o *hcp.Objects) { annotate(o, "dns-records", "proxy.example.com=192.168.100.7") }, false},
		"with a gateway":   {"http://proxy.example.com:3128", func(o *hcp.Objects) { annotate(o, "gateway", "192.168.100.1") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.HostedCluster.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{HTTPProxy: c.proxy, HTTPSProxy: c.proxy}}
			c.given(&o)
			_, problems := translated(o)
			i := slices.IndexFunc(problems, func(p problem.Problem) bool { return slices.Contains(p.Keys, "spec.configuration.proxy") })
			g.Expect(i >= 0).To(Equal(c.problem), "%v", problems)
			if c.problem {
				g.Expect(message(problems[i])).To(And(ContainSubstring("proxy.example.com"), Not(ContainSubstring("secret"))))
			}
		})
	}
}
