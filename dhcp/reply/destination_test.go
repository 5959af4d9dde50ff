package reply_test

import (
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"
)

// TestDestinations: a reply is sent to ciaddr only if the client has that address by table 5 of RFC 2131: when it renews, and for
// DHCPINFORM. Otherwise a VM could cause replies to absent hosts.
func TestDestinations(t *testing.T) {
	for name, c := range map[string]struct {
		m  *dhcpv4.DHCPv4
		to string
	}{
		"DISCOVER":                     {message(discover, mac1), "255.255.255.255:68"},
		"DISCOVER that has an address": {message(discover, mac1, has("200")), "255.255.255.255:68"},
		"SELECTING that has one":       {message(request, mac1, server(us), asks("192.168.100.20"), has("200")), "255.255.255.255:68"},
		"RENEWING":                     {message(request, mac1, has("20")), "192.168.100.20:68"},
		"INFORM":                       {message(inform, mac1, has("200")), "192.168.100.200:68"},
	} {
		t.Run(name, func(t *testing.T) {
			v := world{}.says(c.m)
			NewWithT(t).Expect(v.Answer).NotTo(BeNil(), string(v.Outcome))
			NewWithT(t).Expect(v.To.String()).To(Equal(c.to))
		})
	}
}
