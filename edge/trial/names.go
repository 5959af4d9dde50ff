// This file resolves names over UDP and TCP.

package trial

import (
	"cmp"
	"context"
	"net/netip"

	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// questions is how often a name is queried over UDP, which may lose packets.
const questions = 3

// resolves returns a problem if the server does not answer with the addresses t.Want. If t.Want is
// empty, the server must not answer with any address.
func (w tool) resolves(ctx context.Context, t network.Trial) problem.Problems {
	for _, transport := range []string{"udp", "tcp"} {
		answer, err := w.ask(ctx, transport, t)
		args := problem.Args{"server": {t.At.Addr().String()}, "transport": {transport}, "got": {orNone(network.List(addressesOf(answer)))}, "planned": {cmp.Or(network.List(t.Want), "no such name")}}
		switch {
		case err != nil:
			return append(found(problem.NameUnanswered, args), ended(err)...)
		case len(t.Want) > 0 && answer.Rcode != dns.RcodeSuccess:
			args["got"] = []string{dns.RcodeToString[answer.Rcode]}
			return found(problem.NameDiffers, args)
		case network.List(addressesOf(answer)) != network.List(t.Want):
			return found(problem.NameDiffers, args)
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
