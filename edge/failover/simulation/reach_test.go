// This file simulates what an edge is worth to VMs, and how its agent finds out.

package simulation

import (
	"time"
)

const (
	// probeInterval is how often an agent probes the API server through its Envoy, and
	// reachLimit how long it does without an answer.
	probeInterval = 500 * time.Millisecond
	reachLimit    = 1500 * time.Millisecond
)

// carries reports whether the pod carries a VM's new connections.
func (p *pod) carries() bool { return p.envoyWorks() && !p.dnsHung && p.reachesAPI() }

func (p *pod) envoyWorks() bool { return p.kernel && p.envoyUp && !p.envoyHung && !p.envoyStopped }

func (p *pod) reachesAPI() bool {
	return !p.w.apiDown && !p.apiDark && max(p.cluster.loss[in], p.cluster.loss[out]) < 100
}

// reach probes the API server once, and again after probeInterval.
func (p *pod) reach(life int) {
	if p.life != life || p.stopped {
		return
	}
	w, began := p.w, p.w.now
	if p.envoyWorks() && p.reachesAPI() {
		w.after(p.reachTime(), func() {
			if p.life == life && p.envoyWorks() && p.reachesAPI() {
				p.answered(life, began)
			}
		})
	}
	if w.now-p.reached > reachLimit && !p.unreached {
		p.unreached = true
		w.note("%s does not reach the API server", p.name)
		p.handle(input{kind: unreached})
	}
	w.after(probeInterval, func() { p.reach(life) })
}

func (p *pod) answered(life int, began time.Duration) {
	if p.stopped {
		p.inbox = append(p.inbox, input{kind: reached, began: epoch.Add(began)})
		return
	}
	if p.unreached {
		p.w.note("%s reaches the API server", p.name)
	}
	p.reached, p.unreached = p.w.now, false
	p.handle(input{kind: reached, began: epoch.Add(began)})
	reached := p.reached
	p.w.after(reachLimit, func() {
		if p.life == life && p.reached == reached && !p.stopped && !p.unreached {
			p.unreached = true
			p.w.note("%s does not reach the API server", p.name)
			p.handle(input{kind: unreached})
		}
	})
}

// reachTime is how long a probe takes: a connection, with a second until its first
// repetition, and a ClientHello, with 200 ms.
func (p *pod) reachTime() time.Duration {
	d := p.w.transit() + p.w.apiDelay
	for _, wait := range []time.Duration{time.Second, 200 * time.Millisecond} {
		for p.w.chance(p.cluster.loss[in]) || p.w.chance(p.cluster.loss[out]) {
			d += wait
			wait *= 2
		}
	}
	return d
}
