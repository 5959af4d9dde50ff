// Package failover keeps the next hop of a network with an edge that serves: it
// watches the sibling of an edge, and claims the next hop where machines would
// otherwise send to an edge that is lost, closes, or does not serve yet.
//
// # Take-over
//
// Every edge of a network holds the next hop, the service address and the
// published addresses, so a machine may send to any. Which one is up to the
// machine's neighbour table: its kernel asks "who has the next hop", each edge's
// kernel answers, the first answer stays. Nothing has to be moved between edges
// but the MAC in those entries, and that is what a claim does. A datagram is sent
// from the next hop to an address that nobody has; the kernel broadcasts "who has
// it, tell <next hop>"; and each neighbour that has an entry for the next hop
// takes the sender's MAC into it (RFC 826: it merges before it asks whether it is
// the target). No raw socket, no capability. A kernel asks three times, a second
// apart; a neighbour ignores what comes within a second after its entry changed,
// and heeds the next. Where a router answers for every address (proxy ARP) it asks
// once, and each claim asks for another nobody.
//
// Each edge says every half second, from its own address to the other's, what it
// does. From what is heard follows when to claim:
//
//	the sibling                             claims of an edge that serves
//	serves                                  none
//	starts, leaves, or its kernel refuses   at once, then every half second until it serves
//	is silent, four half seconds            at once, then after 1, 3 and 10 s, then none
//	is none, by plan                        when it first serves, then after 1, 3, 10, 20 and 40 s
//
// An edge that does not serve never claims. Two edges that live and don't hear
// each other claim four times each and then leave the machines in peace: these
// stay with either, and both serve; but where they come to hear each other again
// within these 12 s, a connection may be cut twice. An edge whose own device has
// no carrier takes nobody for lost. A sibling that was silent and speaks again
// with the same instance was there all the time; then the next silence must last
// twice as long, up to 24 s, and each minute of hearing it halves that again. An
// edge that leaves says so and serves on for 2 s if its sibling claims, for 4 s
// if it does not; then it closes.
//
// An edge that the plan has no more serves on until it is ended. The one that
// stays is alone by plan and does not listen, so its kernel refuses while it
// serves: the one that goes does not claim against that, but where nothing is
// heard, as while the pod of the other is made anew, it does.
//
// A change of edge cuts the connections that it carried, once: the edge that
// takes over knows nothing of them and resets them, and the machine connects
// again. What a kernel goes on asking for two seconds after a claim can't be
// taken back; where the claimant fails meanwhile, its sibling claims against it.
//
// # What a hostile machine can do
//
// A machine on the network can forge ARP and so take the next hop for itself. No
// edge without privileges can prevent it, only the network can (OVN's port
// security does). The guard is made to give it nothing that is easier. Nothing is
// taken in that did not come by the device, from the sibling's address and port,
// and through no router. A message counts only if it names the receiver's
// instance, which is by chance and told to the sibling alone: so a machine must
// first receive what is sent to the sibling, that is, forge ARP. One that is
// forged without that costs an answer, at most eight in half a second. A forged
// refusal (ICMP) counts only while the sibling is not heard.
//
// One that reads along may say "leaving" or "starting" for an edge, and the
// machines go to the other, which serves; for both, and connections are cut
// for as long as it goes on, as by forged ARP; or "serving" for an edge that is
// lost, and machines notice by themselves, after 40 to 50 s.
//
// A machine that dials the next hop makes the kernel answer from it, and a kernel
// that has no neighbour entry for the machine first asks for it in the name of
// the next hop: an accidental claim. It moves machines between edges that both
// serve, and cuts the connections of those that moved. An honest machine does so
// once; one that takes ever new addresses about once a second, since neighbours
// ignore more. Where arp_announce is 2 and the device has the next hop as its
// first address, kernels ask in the name of the own address: nothing moves by
// accident, and claims work all the same. See Slow.
package failover
