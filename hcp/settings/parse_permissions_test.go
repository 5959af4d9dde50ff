package settings_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// permitted are the permissions with one flag set.
func permitted(t *testing.T, flag, value string) (p network.Permissions, err error) {
	t.Helper()
	for _, f := range settings.PermissionFlags() {
		if f.Flag == flag {
			return p, f.Set(&p, value)
		}
	}
	t.Fatalf("no flag %s", flag)
	return p, nil
}

// TestPermissionDefaults: without flags, the permissions are the defaults that --help names.
func TestPermissionDefaults(t *testing.T) {
	g := NewWithT(t)
	var said, none network.Permissions
	for _, f := range settings.PermissionFlags() {
		g.Expect(f.Set(&said, f.Default)).To(Succeed())
		g.Expect(f.Set(&none, "")).To(Succeed())
	}
	g.Expect(none).To(Equal(network.Permissions{}))
	for port := range uint16(65535) {
		g.Expect(said.Port(port)).To(Equal(none.Port(port)))
	}
	for _, key := range []string{"vlan100", "node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/infra"} {
		g.Expect(said.NodeLabel(key)).To(Equal(none.NodeLabel(key)), key)
	}
	g.Expect(said.Host("quay.io")).To(Equal(none.Host("quay.io")))
	g.Expect(said.Upstream(netip.MustParseAddr("192.0.2.53"))).To(Equal(none.Upstream(netip.MustParseAddr("192.0.2.53"))))
	g.Expect(said.Destinations).To(BeEmpty())
}

func TestPermissionFlags(t *testing.T) {
	g := NewWithT(t)
	p, err := permitted(t, "permit-hosts", "*.Example.com, quay.io")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Hosts).To(Equal([]string{"*.example.com", "quay.io"}))
	p, err = permitted(t, "permit-hosts", "none")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Host("quay.io")).To(BeFalse())
	p, err = permitted(t, "permit-ports", "443,8000-8010")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Ports).To(Equal([]network.PortRange{{First: 443, Last: 443}, {First: 8000, Last: 8010}}))
	p, err = permitted(t, "permit-destinations", "10.0.0.11,10.9.0.0/16")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Destinations).To(Equal([]netip.Prefix{netip.MustParsePrefix("10.0.0.11/32"), netip.MustParsePrefix("10.9.0.0/16")}))
	for flag, values := range map[string][]string{
		"permit-hosts": {"*example.com", "10.0.0.1/8", "a b", ",", "none,quay.io", "quay.io,none"}, "permit-ports": {"0", "70000", "9-8", "https"},
		"permit-upstreams": {"fd00::1", "10.0.0.1/8", "dns.example.com"}, "permit-edge-node-labels": {"a=b", "a b", "!x", "!x,!y/*", "none,*"}, "permit-destinations": {"x"},
	} {
		for _, v := range values {
			_, err := permitted(t, flag, v)
			g.Expect(err).To(MatchError(And(ContainSubstring("--"+flag), ContainSubstring("$OOOI_PERMIT_"))), v)
		}
	}
}
