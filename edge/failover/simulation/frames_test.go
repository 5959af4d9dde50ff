// This file simulates what a pod sends and what its kernel answers: ARP requests,
// heartbeats, ICMP errors and probes.

package simulation

import (
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/edge/failover"
)

// broadcast sends a request for an unused address, and again a second later.
func (p *pod) broadcast(times int, vms func(*vm), pods func(*pod)) {
	if !p.kernel || times == 0 {
		return
	}
	for _, v := range p.w.vms {
		if vms != nil && p.w.passes(&p.vlan, &v.vlan) {
			p.w.after(p.w.transit(), func() { vms(v) })
		}
	}
	for _, t := range p.w.pods {
		if t != p && t.kernel && p.w.passes(&p.vlan, &t.vlan) {
			t.frames++
			if pods != nil {
				pods(t)
			}
		}
	}
	p.w.after(time.Second, func() { p.broadcast(times-1, vms, pods) })
}

// hears handles a request that names the sender's edge address.
func (p *pod) hears(by *pod) { p.hearsFrom(by, (*neighbor).named) }

func (p *pod) hearsFrom(by *pod, as func(*neighbor, *pod)) {
	if by.number != p.number {
		as(&p.peer, by)
	}
}

// askPeer asks for the peer's edge address. A twin of the peer answers, too.
func (p *pod) askPeer(to *pod) {
	for _, t := range p.w.pods {
		if !p.kernel || t == p || to != nil && t != to || !t.kernel || !p.w.passes(&p.vlan, &t.vlan) {
			continue
		}
		t.frames++
		t.hears(p)
		if t.number != p.number && p.w.passes(&t.vlan, &p.vlan) {
			p.w.after(p.w.transit(), func() {
				p.frames++
				p.peer.answered(t)
			})
		}
	}
}

// send sends a message over the VLAN, and to an address on the cluster network.
func (p *pod) send(m failover.Message, to netip.Addr) {
	p.peer.send(func(t *pod) { p.sendVLAN(t, m) })
	for _, t := range p.w.pods {
		if p.w.single || t.address != to || !p.w.passes(&p.cluster, &t.cluster) {
			continue
		}
		p.w.after(p.w.transit(), func() {
			if t.kernel && t.agent {
				t.handle(input{kind: heard, message: m, second: true})
			}
		})
	}
}

func (p *pod) sendVLAN(t *pod, m failover.Message) {
	if !p.kernel || !p.w.passes(&p.vlan, &t.vlan) || t.filtered {
		return
	}
	p.w.after(p.w.transit(), func() {
		switch {
		case !t.kernel:
		case t.agent:
			t.frames++
			t.handle(input{kind: heard, message: m})
		default:
			t.refuse(p, func() { p.handle(input{kind: refused}) })
		}
	})
}

// refuse sends an ICMP error to the edge address of a pod. A twin of that pod may receive it.
func (p *pod) refuse(asker *pod, arrives func()) {
	if p.icmp[asker] == nil {
		p.icmp[asker] = &bucket{}
	}
	if !p.icmp[asker].take(p.w.now) {
		return
	}
	p.peer.send(func(t *pod) {
		if p.w.passes(&p.vlan, &t.vlan) && t.kernel {
			t.frames++
			if t == asker {
				arrives()
			}
		}
	})
}

// probePeer sends a datagram to a closed port of the peer.
func (p *pod) probePeer() {
	p.peer.send(func(t *pod) {
		if t.kernel && p.w.passes(&p.vlan, &t.vlan) {
			t.frames++
			t.refuse(p, func() { p.peerAnswer++ })
		}
	})
}

// probeVMs sends a datagram to a closed port of each VM. What proves that unicast frames
// arrive is counted: an ICMP error, or an answer to an ARP request.
func (p *pod) probeVMs() {
	if p.w.now < p.leasesRead {
		return
	}
	for _, v := range p.w.vms {
		k := v.known[p]
		if k == nil {
			k = &acquaintance{}
			v.known[p] = k
		}
		answer := func() {
			if p.w.returns(&p.vlan, &v.vlan) {
				p.frames++
				p.answers++
				k.entry, k.confirmed = true, p.w.now
			}
		}
		switch {
		case !k.entry:
			p.w.after(p.w.transit(), answer)
		case p.w.now-k.confirmed > reachableAtMost && !k.asking:
			k.asking = true
			p.w.after(delayTime, func() { k.asking = false; answer() })
		}
		if !p.w.firewalled && p.w.passes(&p.vlan, &v.vlan) && k.icmp.take(p.w.now) && p.w.passes(&v.vlan, &p.vlan) {
			p.w.after(p.w.transit(), func() { p.frames++; p.answers++ })
		}
	}
}
