// Package dns answers the names of a plan on one network, and asks others for
// the rest where the plan says so.
//
// # Parts
//
//   - Views and Answer are pure: which view a client is in, and what that view
//     says to a question (RFC 1034 section 4.3.2, RFC 4592, RFC 2308)
//   - Handler is a CoreDNS plugin over them. It holds everything made from a
//     plan behind one pointer, so a new plan is in force between two questions
//     and none is lost
//   - Upstream asks the resolvers that the plan allows, behind one CoreDNS cache
//     for each view, so that no view sees what another was told
//   - Run is CoreDNS's own server on sockets that the caller opened
//
// # What of CoreDNS is used, and what is not
//
// The server (core/dnsserver) and the cache are used as a library, without
// Caddy's start-up: there is no Corefile and no reload. Not used are
//
//   - plugin/forward: its dialer takes a source address but no device, and a
//     socket that is not bound to its device takes packets that a machine sends
//     to the pod's other address, a forged answer among them; its limit of
//     concurrent questions can be set by a Corefile only
//   - plugin/errors: its handler can be made by a Corefile only; what an upstream
//     does wrong is logged once per change instead of once per question
//   - plugin/file and plugin/view: together they cost more than the rest of the
//     server, and the plan is at hand as a map; plugin/hosts knows neither
//     wildcards nor zones
//   - plugin/metrics: it serves HTTP on a socket of its own and registers with
//     the process; Metrics registers where the caller says
//
// CoreDNS's cache and server count in Prometheus' default registry. A caller
// that wants these too gathers both.
package dns
