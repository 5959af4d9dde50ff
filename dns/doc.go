// Package dns answers the names of a plan on one network, and forwards other
// questions if the plan permits it.
//
// # Parts
//
//   - Package answers is pure: the view of a client, and the answer of that view to a question.
//   - Handler answers one question. It holds everything made from a plan behind one
//     pointer. So a new plan takes effect between two questions, and none is lost.
//   - A forwarder answers the rest for each view: from its cache, from an Upstream, or with
//     an answer that expired (RFC 8767). No view sees the answers of another.
//   - Package shares decides which client loses when a resource is full: the one that holds most.
//     Clients are counted by MAC.
//   - Run answers on sockets that the caller opened. A question that the plan answers is
//     answered where it is read, packet in and packet out. The rest goes to the Handler. Knot and BIND
//     are the judges of both (TestJudges), and each is the judge of the other (FuzzPacket).
//
// # Use of CoreDNS
//
// Its packages that truncate answers, check the version of EDNS and find the TTL of an answer are libraries here.
// Its server (core/dnsserver) is not used: all that is left for it is to call one handler, and it
// links Caddy, QUIC and OpenTracing. These plugins are not used:
//
//   - plugin/cache: it counts answers and not bytes, and does not know whose they are. With 1,024 of
//     them it took 24 MiB, and 20,000 names of one VM removed all answers of another one. Only a
//     Corefile can enable stale answers.
//   - plugin/forward: its dialer binds to a source address but not to a device. An
//     unbound socket accepts packets that a VM sends to the pod's other address, such as
//     a forged answer. Only a Corefile can set its limit of concurrent questions.
//   - plugin/errors: only a Corefile can create its handler. Failures of an upstream
//     are logged once for each change, not for each question.
//   - plugin/file and plugin/view: they cost more than the rest of the server, and the
//     plan is a map already. plugin/hosts supports neither wildcards nor zones.
//   - plugin/metrics: it serves HTTP on its own socket and uses the global registry.
package dns
