// Package failover keeps the next-hop VIP of a network on an edge that serves. An edge is a pod of oooi on an isolated
// network of VMs, called the VLAN here. If a network has two edges, each is the other's peer. The next-hop VIP is the
// router address of VMs, and the service VIP is the address of DNS, NTP and published endpoints. The package watches the
// edge's peer, and announces the VIPs if VMs would otherwise send to an edge that is unreachable, stops, or does not
// serve yet.
//
// # Failover
//
// Every edge of a network holds the next-hop VIP, the service VIP and the published addresses, so a VM may send to any
// edge. The VM's ARP table decides: its kernel asks "who has the next-hop VIP", each edge's kernel answers, and the first
// answer stays. Failover only has to change the MAC in those entries, which an announcement does. A datagram is sent from
// the next-hop VIP to an address that no host has. The kernel broadcasts "who has it, tell <next-hop VIP>", and each host
// with an entry for the next-hop VIP stores the sender's MAC in that entry. By RFC 826, a host updates the entry before
// it checks whether it is the target. An announcement needs no raw socket and no capability. A kernel asks three times, a
// second apart. A host ignores requests within a second after its entry changed, and accepts the next. Where a router
// answers for every address (proxy ARP) the kernel asks once, and each announcement uses another address.
//
// Some clients send to the service VIP directly: static hosts in the CIDR, and pods of the hosted cluster
// behind OVN's shared gateway. So an announcement also names the service VIP and the
// published addresses in the CIDR, each with a datagram of its own.
//
// The rule: an edge announces only if it provably serves VMs better than its peer. So each edge computes its level, which
// is how far VMs get through it:
//
//	nothing   VMs get no answer: the edge does not serve, receives nothing, or yields
//	serves    the edge's servers answer
//	reaches   the edge's servers answer, and the API server answers through its Envoy
//
// Each edge sends a heartbeat every half second over two networks: over the VLAN, from its edge
// address to its peer's, and over the cluster network, between the pods' addresses. Heartbeats
// decide when to announce:
//
//	the peer                                  announcements of an edge that serves
//	serves, at the same level or higher       none
//	serves, at a lower level                  after two messages, every half second for 3 s, then every 2 s
//	starts, drains, or a refusal arrives      at once, then every half second until it serves
//	is silent for four half seconds           at once, then after 1, 3 and 10 s, then none
//	does not exist in the plan                when it first serves, then after 1, 3, 10, 20 and 40 s
//
// If both edges start, the one with the higher number waits for its next tick, at most half a
// second. So two edges that start to serve at the same time rarely move VMs back and forth.
//
// While the failover agent of a pod does not run, the pod's kernel refuses heartbeats (ICMP port unreachable). A new pod
// may replace a lost one without announcing itself: some CNI plugins never announce a pod, and a switch may drop the
// announcement. Then heartbeats go to the lost pod until the ARP entry in the peer's kernel expires, at most 53 s after
// the loss. VMs that ask for the next-hop VIP meanwhile may get the new pod's MAC. Those VMs reach nothing until the
// entry expires or the new pod's agent starts. The control plane replaces a lost pod after 70 s or more. So this happens
// only if a pod is deleted by force or a node restarts.
//
// An edge at level nothing never announces. To announce against a peer at a lower level, an edge needs a proof of its own
// level. The proof must be newer than the peer's first message with the lower level. For the highest level, the API
// server must have answered three times in a row, each time within half a second. So an API server that is down moves no
// VM: neither edge reaches it, so neither has a proof. An edge whose level rises above its peer's waits for 3 s, since
// both edges may be recovering from one cause.
//
// # Silence
//
// Silence on the VLAN has many causes, but few of them mean that the peer is lost. Silence counts only while the device
// has a carrier. If VMs answered probes before, or used this edge, frames must also arrive. A probe is a datagram to a
// closed UDP port, which a kernel answers with an ICMP error. During a silence the edge probes the peer and known VMs.
// While the peer is heard, the edge probes VMs every 1.5 s until one has answered, then every ten seconds. An edge is
// deaf if it receives nothing, and mute if nothing that it sends arrives. If VMs answered before, or used this edge, four
// probes without a frame show that the edge is deaf.
//
//	the peer is silent on the VLAN for            and                                  the edge
//	four half seconds, on both networks           the peer's kernel does not answer    announces, see the table above
//	four half seconds, on both networks           the peer's kernel answers            announces once
//	seven half seconds, on the VLAN only          the peer's kernel answers            does not announce: heartbeats are lost
//	seven half seconds, on the VLAN only          it hears this edge, and VMs answer   announces as against a lower level: the peer is mute
//	four half seconds, on the VLAN only           as before, but VMs are silent        is deaf
//	seven half seconds, on the VLAN only          the peer does not hear this edge     announces, unless known VMs are silent: the VLAN is cut
//
// If the edges hear each other over the VLAN again, the link was bad, and the next silence must last for one second
// longer, at most three times. Each minute in which the peer is heard takes one of these seconds back. A stall is a time
// in which an edge did not run. Heartbeats report the number of stalls, and a silence that a stall of the peer explains
// does not count.
//
// Without a second path, for example while the peer's address on the cluster network is unknown, a hung peer
// cannot be distinguished from lost heartbeats. The edge with the higher number then waits half a second longer
// if the peer's kernel answers. After each silence that a bad link caused, the edge waits twice as long at the
// next one, up to 24 s.
//
// An edge announces only once against a silent peer whose kernel answers. The peer may be frozen, but it may also serve:
// two edges that serve without hearing each other must not move VMs back and forth. A VM that boots later may use the
// frozen edge as long as it is frozen.
//
// If all VMs drop probes, nothing shows that the edge receives while the peer is heard only on the cluster network. If
// the peer is mute or the VLAN is cut, the VMs wait. The wait ends when their own kernels notice, or when the edge's
// kernel asks for their MAC again.
//
// An edge that drains reports that in its heartbeats. It keeps serving for 2 s if its peer announces, for 4 s if
// not, and then closes.
//
// # Two pods of one edge
//
// A node that the control plane has given up may still run its edge while another pod has that edge's number and address.
// The peer accepts the younger pod, and informs the elder, so that the elder yields. The peer announces until the elder
// is gone. The peer's kernel sends to the pod whose ARP request it saw last. So an edge that gets no answer sends an ARP
// request.
//
// The younger pod is the one that started later by its node's clock. If that clock is behind by
// more than the time between the two starts, usually minutes, the wrong pod yields.
//
// The plan is what the operator tells edges to serve. An edge that was removed from it serves until it is stopped. The
// remaining edge has no peer in the plan and does not listen, so its kernel refuses heartbeats while it serves. The
// removed edge does not announce while its heartbeats are refused. It announces while it gets neither a heartbeat nor a
// refusal, for example while the pod of the remaining edge is recreated.
//
// A failover resets the connections through the lost edge once: the other edge does not know these connections, and VMs
// connect again. The ARP requests that a kernel still sends for two seconds after an announcement cannot be stopped. If
// the announcing edge fails meanwhile, its peer announces against it.
//
// # Versions
//
// During an upgrade the two edges run different versions. The JSON of heartbeats stays compatible, and unknown fields are
// ignored. A level that this version does not know is neither lower nor higher than another.
//
// # What a hostile VM can do
//
// A VM on the network can forge ARP and so take the next-hop VIP for itself. No edge without privileges can prevent that,
// only the network can. OVN does not: on a network without IPAM, its port security covers the MACs of VMs, and none of
// their addresses. Heartbeats to edges that serve offer no easier way; see package twins. The failover agent accepts
// only what arrives on the device, from the peer's address and port, through no router. It accepts a message only if it names the receiver's instance, which is
// random and sent to the peer alone. So a VM must first receive what is sent to the peer, that is, forge ARP. A message
// with a wrong instance costs one answer, at most eight in half a second. A forged refusal (ICMP) has an effect only
// while the peer is not heard.
//
// On the cluster network an edge listens only to the pod that its peer named over the VLAN. A
// message must arrive on the pod's interface, from that address and port, and name that address.
// Pod networks are routed, so the TTL says nothing there. An elder is answered there only at an address that the peer
// had. The NetworkPolicy lets an edge send heartbeats to edges alone.
//
// A VM can answer probes that no other VM answers, and forge answers in the name of the peer or of VMs. So it can make an
// edge that receives only broadcasts announce, or keep an edge from announcing while the peer is silent. Forged ARP does
// both at once. A VM cannot turn probes into load. While its peer is silent, an edge probes at most eight VMs in half a
// second, and reads at most 64 answers. Half of the probed VMs have a DHCP lease, so a VM with many addresses does not
// crowd out the others.
//
// A forged message with a high number makes all further messages of the peer look old. The edge
// forgets the number after ten seconds.
//
// A VM that reads the heartbeats may send "draining" or "starting" for one edge. VMs then use the other edge, which
// serves. If the VM forges this for both edges, connections are reset until it stops, as with forged ARP. The VM may name
// a younger pod, so that an edge yields until the peer is heard, or for two minutes after the VM's last message. It may
// name a wrong address for the peer's pod, which ends the second path. It may send "serving" for an edge that is gone.
// Other VMs then notice by themselves after 40 to 50 s.
//
// A VM that connects to the next-hop VIP makes the kernel answer from that address. A kernel without an ARP entry for the
// VM first asks for the VM's MAC with the next-hop VIP as the sender: an accidental announcement. This moves VMs between
// edges that both serve, and resets the connections of the VMs that move. A VM that is not hostile causes one
// announcement. A VM that uses ever new addresses causes about one a second, since hosts ignore more. Where arp_announce
// is 2 and the device has the next-hop VIP as its first address, kernels ask from the edge address. Then no VM moves by
// accident, and the next-hop VIP can still be announced. Other addresses cannot be announced, so clients that use the
// service VIP directly would wait until their own kernels notice. So the edge's NetworkAttachmentDefinition sets
// arp_announce to 0 where it may. See Degraded.
package failover
