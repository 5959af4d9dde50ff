// This file is a user behind the gateway of a network: a host two hops away that resolves names at the edges, and dials the
// addresses.

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/miekg/dns"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/lan"
)

// OutsideHost returns the address of the host behind the gateway, with the prefix length of its network.
func OutsideHost() netip.Prefix { return netip.MustParsePrefix("10.9.0.20/24") }

// An Outsider is a host that is not on the network of a hosted cluster, but behind a router on it.
type Outsider struct {
	lan.Router
	// ServiceVIP is the address of its DNS server.
	ServiceVIP netip.Addr
}

// PlugOutsider attaches a router to n, with the first address of n's CIDR, and a host to the router. The router has the routes to
// addresses outside the CIDR that VMs get by DHCP.
func PlugOutsider(ctx context.Context, c *cluster.Cluster, name string, n network.Network) (Outsider, error) {
	gateway := netip.PrefixFrom(n.CIDR.Masked().Addr().Next(), n.CIDR.Bits())
	r, err := c.LAN().PlugRouter(ctx, c.HostName(name), n.Attachment.VLAN, gateway, OutsideHost())
	if err != nil {
		return Outsider{}, err
	}
	for _, a := range n.PublishedAddresses {
		if err := lan.Route(r.NetNS, network.Host(a), n.NextHopVIP); err != nil {
			return Outsider{}, err
		}
	}
	return Outsider{r, n.ServiceVIP}, nil
}

// Settings returns the annotations, without prefix, with which edges answer o.
func (o Outsider) Settings() map[string]string {
	return map[string]string{"gateway": o.Address.String(), "client-networks": OutsideHost().Masked().String()}
}

// Ask resolves a name at the edges. code is the RCODE of the answer (RFC 1035, section 4.1.1).
func (o Outsider) Ask(ctx context.Context, name string) (addresses []netip.Addr, code int, err error) {
	conn, err := lan.DialNetNS(o.HostNetNS)(ctx, "udp", netip.AddrPortFrom(o.ServiceVIP, 53).String())
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA)
	answer, _, err := new(dns.Client).ExchangeWithConnContext(ctx, question, &dns.Conn{Conn: conn})
	if err != nil {
		return nil, 0, err
	}
	for _, record := range answer.Answer {
		if a, ok := record.(*dns.A); ok {
			if address, ok := netip.AddrFromSlice(a.A.To4()); ok {
				addresses = append(addresses, address)
			}
		}
	}
	return addresses, answer.Rcode, nil
}

// Dial dials from the host. It resolves names at the edges.
func (o Outsider) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err != nil {
		addresses, code, err := o.Ask(ctx, host)
		if err != nil {
			return nil, err
		}
		if len(addresses) == 0 {
			return nil, fmt.Errorf("%s has no address: %s", host, dns.RcodeToString[code])
		}
		host = addresses[0].String()
	}
	return lan.DialNetNS(o.HostNetNS)(ctx, network, net.JoinHostPort(host, port))
}

// Nodes lists the nodes of a hosted cluster from the host, as an administrator does with `oc get nodes`. guest is a configuration
// of a client for the hosted cluster. The host uses the published name of the API server, if there is one.
func (o Outsider) Nodes(ctx context.Context, guest *rest.Config) ([]core.Node, error) {
	config := rest.CopyConfig(guest)
	config.Dial = o.Dial
	if name := config.ServerName; name != "" {
		server, err := url.Parse(config.Host)
		if err != nil {
			return nil, err
		}
		config.Host = "https://" + net.JoinHostPort(name, server.Port())
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := client.CoreV1().Nodes().List(ctx, meta.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Get requests a page from the host. It verifies the server with ca, in PEM. It returns an error for each status other than 200.
func (o Outsider) Get(ctx context.Context, url string, ca []byte) (string, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{DialContext: o.Dial, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, answer.Status)
	}
	return string(body), err
}
