package reply_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
)

// TestStories: the options and answers that a node gets by DHCP on each network of each story.
func TestStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			text := story.Read(t, "plan.json")
			if text == nil {
				story.Check(t, "dhcp.txt", nil)
				return
			}
			var plan network.Plan
			NewWithT(t).Expect(json.Unmarshal(text, &plan)).To(Succeed())
			var out strings.Builder
			for _, n := range plan.Networks {
				if !slices.Contains(n.Services, network.ServiceDHCP) {
					fmt.Fprintf(&out, "# %s: DHCP is not ours\n", n.Name)
					continue
				}
				fmt.Fprintf(&out, "# %s\n", n.Name)
				w := world{n: n, vms: cluster{names: map[string]string{mac1: plan.Cluster.Name + "-1"}}}
				first := w.says(message(dhcpv4.MessageTypeDiscover, mac1, parameters(rhcos...)))
				say(&out, "DISCOVER", first)
				say(&out, "REQUEST (SELECTING)", w.says(message(dhcpv4.MessageTypeRequest, mac1, parameters(rhcos...),
					dhcpv4.WithOption(dhcpv4.OptServerIdentifier(n.DHCP.ServerID.AsSlice())), dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(first.Address.AsSlice())))))
				say(&out, "REQUEST (INIT-REBOOT) for 10.255.255.1", w.says(message(dhcpv4.MessageTypeRequest, mac1, asks("10.255.255.1"))))
			}
			story.Check(t, "dhcp.txt", []byte(out.String()))
		})
	}
}

func say(out *strings.Builder, what string, v reply.Verdict) {
	fmt.Fprintf(out, "\n> %s\n", what)
	if v.Answer == nil {
		fmt.Fprintf(out, "  silence: %s\n", v.Outcome)
		return
	}
	if v.Next.Address.IsValid() {
		fmt.Fprintf(out, "  writes %s for %s %s, to %s from now\n", v.Next.Address, v.Next.MAC, v.Next.VM, v.Next.Expires.Sub(now.Truncate(1e9)))
	}
	fmt.Fprintf(out, "< %s to %s", v.Answer.MessageType(), v.To)
	if v.Answer.YourIPAddr != nil {
		fmt.Fprintf(out, ", yiaddr %s", v.Answer.YourIPAddr)
	}
	out.WriteString("\n")
	lines := strings.Split(strings.TrimSpace(v.Answer.Options.String()), "\n")
	slices.Sort(lines)
	for _, l := range lines {
		fmt.Fprintf(out, "  %s\n", strings.TrimSpace(l))
	}
}
