// Package dns answers the names of a plan on one network, and forwards other
// questions if the plan permits it.
//
// # Parts
//
//   - Views and Answer are pure: the view of a client, and the answer of that view to a
//     question (RFC 1034 section 4.3.2, RFC 4592, RFC 2308).
//   - Handler is a CoreDNS plugin. It holds everything made from a plan behind one
//     pointer. So a new plan takes effect between two questions, and none is lost.
//   - Upstream queries the resolvers of the plan, behind one CoreDNS cache for each
//     view. So no view sees the answers of another.
//   - Run is CoreDNS's server on sockets that the caller opened.
//
// # Use of CoreDNS
//
// The server (core/dnsserver) and the cache are used as libraries, without Caddy: there
// is no Corefile and no reload. These plugins are not used:
//
//   - plugin/forward: its dialer binds to a source address but not to a device. An
//     unbound socket accepts packets that a VM sends to the pod's other address, such as
//     a forged answer. Only a Corefile can set its limit of concurrent questions.
//   - plugin/errors: only a Corefile can create its handler. Failures of an upstream
//     are logged once for each change, not for each question.
//   - plugin/file and plugin/view: they cost more than the rest of the server, and the
//     plan is a map already. plugin/hosts supports neither wildcards nor zones.
//   - plugin/metrics: it serves HTTP on its own socket and uses the global registry.
//
// CoreDNS's cache and server count in Prometheus' default registry. A caller that wants
// these metrics gathers both registries.
package dns
