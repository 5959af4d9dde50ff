// Package acd detects address conflicts (RFC 5227) before the first edge of a network runs.
// Another host may have an address that edges are to hold.
//
// # How it probes
//
// RFC 5227 probes with raw ARP, which needs a capability. Here the kernel probes: a datagram to
// an address makes the kernel broadcast ARP requests, by default three, a second apart
// (mcast_solicit, retrans_time_ms). Its neighbor entry is INCOMPLETE meanwhile. The first answer
// gives the entry a MAC. Without an answer it becomes FAILED a second after the last request. All
// addresses are probed at once. The requests carry the pod's own address, the last edge address, so
// they change no other host's ARP table. An exception are edges of another management cluster: the
// kernel of their edge 1 then sends to the pod instead of edge 2. After a second without a
// heartbeat, edge 2 sends an ARP request, which ends that.
//
// # When an address is free
//
// An address is free when four conditions hold for it:
//
//   - the first probe was sent at least 4 s ago (freeAfter),
//   - the kernel gave up once: the entry became FAILED,
//   - it was probed again after that, and
//   - that probe has been unanswered for 1 s (answerWithin).
//
// With default settings probes go out at 0, 1, 2 and 3 s, and the address is free after 4.1 s.
// RFC 5227 section 1.1 sends three probes 1-2 s apart and then waits 2 s (ANNOUNCE_WAIT). The
// shortest sequence that it allows has probes at 0, 1 and 2 s, and ends at 4 s. The fourth probe
// covers a port that starts to forward late. A pod's port forwards before its containers start:
// veth, macvlan and virtual functions at once, OVN when its CNI returns. A physical RSTP edge
// port takes 3 s (802.1D-2004, 17.20.4), and the probe at 3 s is sent through it. Classic STP
// takes 30 s, which no check waits for; the edges' own announcements and the report of a later
// conflict remain. Where an administrator lowers mcast_solicit, the kernel gives up earlier and
// is made to probe again immediately, so the 4 s still hold. Losing the carrier restarts the
// check.
//
// # Proxy ARP
//
// A router may answer for every address. Control addresses, which no host should have,
// are probed too. A MAC that answers for all of them does not show which host has an
// address. So a conflict is only declared when all controls are decided.
package acd
