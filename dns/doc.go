// Package dns answers the names of a plan on one network, and forwards other
// questions if the plan permits it.
//
// # Parts
//
//   - Package answers is pure: the view of a client, and the answer of that view to a question.
//   - Handler is a CoreDNS plugin. It holds everything made from a plan behind one
//     pointer. So a new plan takes effect between two questions, and none is lost.
//   - A forwarder answers the rest for each view: from its cache, from an Upstream, or with
//     an answer that expired (RFC 8767). No view sees the answers of another.
//   - Package shares decides which client loses when a resource is full: the one that holds most.
//     Clients are counted by MAC.
//   - Run answers on sockets that the caller opened. A question that the plan answers is
//     answered where it is read, packet in and packet out. The rest goes to CoreDNS. Knot and BIND
//     are the judges of both (TestJudges), and each is the judge of the other (FuzzPacket).
//
// # Use of CoreDNS
//
// The handling of a question (core/dnsserver) is used as a library, without Caddy: there is
// no Corefile and no reload. These plugins are not used:
//
//   - plugin/cache: it counts answers and not bytes. 10,000 answers of 60 KB do not fit into
//     a container. Only a Corefile can enable stale answers.
//   - plugin/forward: its dialer binds to a source address but not to a device. An
//     unbound socket accepts packets that a VM sends to the pod's other address, such as
//     a forged answer. Only a Corefile can set its limit of concurrent questions.
//   - plugin/errors: only a Corefile can create its handler. Failures of an upstream
//     are logged once for each change, not for each question.
//   - plugin/file and plugin/view: they cost more than the rest of the server, and the
//     plan is a map already. plugin/hosts supports neither wildcards nor zones.
//   - plugin/metrics: it serves HTTP on its own socket and uses the global registry.
//
// CoreDNS's server counts in Prometheus' default registry. A caller that wants
// these metrics gathers both registries.
package dns
