// This file holds what can go wrong in a world. A fault ends by itself.

package simulation

import "time"

// How soon an agent notices what its servers report.
const (
	// silence is how long a server may be silent before it counts as down.
	silence = 3 * time.Second
	// push is how long a server's report takes.
	push = 50 * time.Millisecond
)

// A side of a link.
type side func(p *pod) *port

func vlan(p *pod) *port    { return &p.vlan }
func cluster(p *pod) *port { return &p.cluster }

// deaf makes a pod receive nothing over a network for d, mute makes it send nothing.
func (p *pod) deaf(of side, d time.Duration) { p.loses(of, 100, 0, d) }
func (p *pod) mute(of side, d time.Duration) { p.loses(of, 0, 100, d) }
func (p *pod) cut(of side, d time.Duration)  { p.loses(of, 100, 100, d) }

// isolate cuts both networks of a pod, as where its node loses its cables. They return within
// two seconds, either one first.
func (p *pod) isolate() {
	d := p.w.between(5*second, 40*second)
	p.cut(vlan, d+p.w.between(0, 2*second))
	p.cut(cluster, d+p.w.between(0, 2*second))
}

// loses makes a pod lose percentages of frames in both directions for d.
func (p *pod) loses(of side, received, sent int, d time.Duration) {
	p.w.note("%s: loses %d %% of what it receives and %d %% of what it sends, for %.1f s", p.name, received, sent, d.Seconds())
	port := of(p)
	port.loss[in] = max(port.loss[in], received)
	port.loss[out] = max(port.loss[out], sent)
	p.w.after(d, func() {
		p.w.note("%s: loses nothing more", p.name)
		if received > 0 {
			port.loss[in] = 0
		}
		if sent > 0 {
			port.loss[out] = 0
		}
	})
}

// unplug makes a pod lose its link on the VLAN for d. Its kernel reports that.
func (p *pod) unplug(d time.Duration) {
	p.cut(vlan, d)
	p.noLink = true
	p.w.after(d, func() { p.noLink = false })
}

// filter drops heartbeats on the VLAN to this pod for d.
func (p *pod) filter(d time.Duration) {
	p.w.note("%s: no heartbeat arrives over the VLAN for %.1f s", p.name, d.Seconds())
	p.filtered = true
	p.w.after(d, func() { p.filtered = false })
}

// partition cuts the VLAN into the sides of its hosts for d.
func (w *world) partition(d time.Duration) {
	w.note("the VLAN is partitioned for %.1f s", d.Seconds())
	w.partitioned = true
	w.after(d, func() { w.note("the VLAN is whole"); w.partitioned = false })
}

// hangEnvoy makes Envoy's workers hang for d. The kernel still accepts connections.
func (p *pod) hangEnvoy(d time.Duration) {
	p.w.note("%s: Envoy's workers hang for %.1f s", p.name, d.Seconds())
	p.envoyHung = true
	run := p.envoyRun
	p.w.after(d, func() {
		if p.envoyRun == run {
			p.w.note("%s: Envoy's workers run", p.name)
			p.envoyHung = false
		}
	})
}

// stopEnvoy stops Envoy's process for d. Its administration interface is asked once a
// second, with a second for the answer, and a silence is borne for up to three.
func (p *pod) stopEnvoy(d time.Duration) {
	p.hangEnvoy(d)
	p.verdict(false, p.w.between(time.Second, 4500*time.Millisecond))
	p.w.after(d, func() { p.verdict(true, p.w.between(push, time.Second)) })
}

// killEnvoy ends Envoy. Its container starts again.
func (p *pod) killEnvoy() {
	p.w.note("%s: Envoy is killed", p.name)
	p.envoyUp = false
	p.envoyRun++
	p.verdict(false, push)
	p.startEnvoy(p.w.between(500*time.Millisecond, 2*time.Second))
}

// hangProxy makes the control plane of Envoy hang for d. Envoy carries on, and nothing else changes.
func (p *pod) hangProxy(d time.Duration) { p.w.note("%s: proxy hangs for %.1f s", p.name, d.Seconds()) }

// hangDNS makes the DNS server hang for d.
func (p *pod) hangDNS(d time.Duration) {
	p.w.note("%s: dns hangs for %.1f s", p.name, d.Seconds())
	p.dnsHung = true
	p.verdict(false, silence)
	p.w.after(d, func() { p.dnsHung = false; p.verdict(true, push) })
}

// killAgent ends the failover agent. Its container starts again.
func (p *pod) killAgent() {
	p.stopAgent()
	p.w.after(p.w.between(300*time.Millisecond, 2*time.Second), func() {
		if p.kernel && !p.agent {
			p.startAgent()
			p.verdict(p.envoyUp, p.w.between(push, 500*time.Millisecond))
		}
	})
}

// killAll ends every process of the pod. All start again.
func (p *pod) killAll() {
	p.w.note("%s: all processes are killed", p.name)
	p.kill()
	p.w.after(p.w.between(500*time.Millisecond, 3*time.Second), func() { p.start(p.w.between(500*time.Millisecond, 2*time.Second)) })
}

// lose loses the node of an edge. The pod comes back after d with another MAC, as its
// sandbox is created again. A negative d is for ever.
func (w *world) lose(number int, d time.Duration) {
	p := w.edges[number]
	w.note("the node of %s is lost", p.name)
	p.remove()
	if d < 0 {
		return
	}
	w.after(d, func() {
		if w.edges[number] != p {
			return
		}
		next := w.boot(number)
		next.born, next.vlan.side = p.born, p.vlan.side
		w.edges[number] = next
		w.after(w.between(100*time.Millisecond, 2*time.Second), func() { next.start(w.between(500*time.Millisecond, 3*time.Second)) })
	})
}

// renew loses the node of an edge. Its pod is created on another node after its peer has announced four
// times, and that node lacks the image: the kernel answers for the VIPs, and the agent starts
// 30 s later. VMs that ask meanwhile send to it. Announced: the new pod announces its edge
// address, as most CNI plugins do.
func (w *world) renew(number int, announced bool) {
	p := w.edges[number]
	w.note("the node of %s is lost", p.name)
	p.remove()
	w.after(w.between(13*second, 60*second), func() {
		next := w.boot(number)
		next.vlan.side = p.vlan.side
		w.edges[number] = next
		if announced {
			next.broadcast(1, nil, func(t *pod) { t.hearsFrom(next, (*neighbor).announced) })
		}
		w.after(w.between(0, 5*second), func() { w.useAgain(number) })
		w.after(30*second, func() { next.start(w.between(500*time.Millisecond, 3*time.Second)) })
	})
}

// replace deletes the pod of an edge. Another one is created. Then is called when the
// operator has seen that one ready.
func (w *world) replace(number int, then func()) {
	p := w.edges[number]
	p.drain(func() {
		w.after(w.between(time.Second, 4*time.Second), func() {
			if w.edges[number] != p {
				return
			}
			next := w.boot(number)
			w.edges[number] = next
			ready := w.between(time.Second, 4*time.Second)
			w.after(w.between(100*time.Millisecond, time.Second), func() { next.start(ready) })
			w.after(ready+w.between(3*time.Second, 10*time.Second), then) // the kubelet's probe, and the operator
		})
	})
}

// twin evicts the pod of an edge on an unreachable node: it keeps running, and another pod
// of the same edge starts on a third node. After d the elder ends.
func (w *world) twin(number int, d time.Duration) (elder, younger *pod) {
	elder = w.edges[number]
	younger = w.boot(number)
	younger.vlan.side = 2
	w.edges[number] = younger
	younger.start(w.between(time.Second, 3*time.Second))
	w.after(d, func() {
		if elder.kernel {
			elder.remove()
		}
	})
	return elder, younger
}

// api ends the API server for d.
func (w *world) stopAPI(d time.Duration) {
	w.note("the API server is down for %.1f s", d.Seconds())
	w.apiDown = true
	w.after(d, func() { w.note("the API server is up"); w.apiDown = false })
}

// slowAPI makes the API server answer late for d.
func (w *world) slowAPI(late, d time.Duration) {
	w.note("the API server takes %.2f s for %.1f s", late.Seconds(), d.Seconds())
	w.apiDelay = late
	w.after(d, func() { w.apiDelay = 0 })
}

// dark hides the API server from one edge for d, as when one replica is unreachable from
// its node and connections stick to it.
func (p *pod) dark(d time.Duration) {
	p.w.note("%s: the API server is dark for %.1f s", p.name, d.Seconds())
	p.apiDark = true
	p.w.after(d, func() { p.w.note("%s: the API server is there", p.name); p.apiDark = false })
}
