// Package dns answers questions for the names of a plan (network.Network) on one network, and forwards other questions if the
// plan permits it.
//
// # Parts
//
//   - Package answers decides, without I/O, the view of a client, and the view's answer to a question. A view has the
//     names for one group of clients.
//   - Handler answers one question. It holds everything made from a plan behind one pointer, so a change of the plan loses no question.
//   - A forwarder answers the other questions, separately for each view: from the view's cache, from an
//     Upstream, or with an answer that expired (RFC 8767). No view sees the answers of another.
//   - Package shares decides which client loses when a resource is full: the client that holds most.
//     Clients are counted by MAC.
//   - Run answers on sockets that the caller opened. If the plan answers a question, the reader
//     of the socket writes the answer packet itself. Other questions go to the Handler. Tests compare both ways
//     with Knot and BIND (TestJudges), and with each other (FuzzPacket).
//
// # Use of CoreDNS
//
// CoreDNS's packages that truncate answers, check the EDNS version and find the TTL of an answer are used as libraries.
// Its server (core/dnsserver) is not used: it would only call one handler, and links Caddy,
// QUIC and OpenTracing. These plugins are not used:
//
//   - plugin/cache: it counts answers instead of bytes, and does not know which client an answer belongs to. With
//     1,024 answers it took 24 MiB, and 20,000 names of one VM removed all answers of another VM. Only a
//     Corefile can enable stale answers.
//   - plugin/forward: its dialer binds to a source address but not to a device. An
//     unbound socket accepts packets that a VM sends to the pod's other address, such as
//     a forged answer. Only a Corefile can set its limit of concurrent questions.
//   - plugin/errors: only a Corefile can create its handler. Failures of an upstream
//     are logged once for each change, not for each question.
//   - plugin/file and plugin/view: they cost more than the rest of the server, and a map
//     from the plan suffices. plugin/hosts supports neither wildcards nor zones.
//   - plugin/metrics: it serves HTTP on its own socket and uses the global registry.
package dns
