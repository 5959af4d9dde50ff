// This file resolves names, by UDP and by TCP.

package trial

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/network"
)

// questions are how often a name is asked for by UDP, which may lose packets.
const questions = 3

// resolves returns an error unless the server answers t.Want. Without t.Want, it must answer no address.
func (w tool) resolves(ctx context.Context, t network.Trial) error {
	for _, transport := range []string{"udp", "tcp"} {
		answer, err := w.ask(ctx, transport, t)
		switch got := addressesOf(answer); {
		case err != nil:
			return fmt.Errorf("%s does not answer over %s: %w", t.At.Addr(), transport, ended(err))
		case len(t.Want) == 0 && len(got) > 0:
			return fmt.Errorf("%s answers %s over %s, but the plan has no such name", t.At.Addr(), sorted(got), transport)
		case len(t.Want) > 0 && answer.Rcode != dns.RcodeSuccess:
			return fmt.Errorf("%s answers %s over %s, but the plan has %s", t.At.Addr(), dns.RcodeToString[answer.Rcode], transport, sorted(t.Want))
		case sorted(got) != sorted(t.Want):
			return fmt.Errorf("%s answers %q over %s, but the plan has %s", t.At.Addr(), sorted(got), transport, sorted(t.Want))
		}
	}
	return nil
}

func (w tool) ask(ctx context.Context, transport string, t network.Trial) (answer *dns.Msg, err error) {
	c := dns.Client{Net: transport, Dialer: w.dialer, Timeout: answersWithin / questions}
	for range questions {
		answer, _, err = c.ExchangeContext(ctx, new(dns.Msg).SetQuestion(dns.Fqdn(t.Name), dns.TypeA), t.At.String())
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return answer, err
}

func addressesOf(m *dns.Msg) (out []netip.Addr) {
	if m == nil {
		return nil
	}
	for _, r := range m.Answer {
		if a, ok := r.(*dns.A); ok {
			if ip, ok := netip.AddrFromSlice(a.A.To4()); ok {
				out = append(out, ip)
			}
		}
	}
	return out
}
