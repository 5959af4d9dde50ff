// This file simulates the pod of one edge: its kernel, its processes and what they observe.

package simulation

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/edge/failover"
)

// A pod is one pod of an edge, with its own MAC and its own kernel (network namespace).
type pod struct {
	w       *world
	name    string
	number  int        // of the edge, from 0
	born    int64      // ms; the generation
	address netip.Addr // on the cluster network

	vlan, cluster port
	filtered      bool // heartbeats on the VLAN are dropped on their way to this pod

	// kernel: the pod exists and its node runs.
	kernel                      bool
	frames, answers, peerAnswer uint64
	icmp                        map[*pod]*bucket
	peer                        neighbor // the entry for the peer's edge address
	probed                      bool     // at the last tick

	noLink bool // the device has no carrier
	// leasesRead is when the agent knows the addresses of VMs.
	leasesRead time.Duration

	// agent: the failover agent runs. life counts its runs.
	agent   bool
	life    int
	decides *decisions
	ready   bool // what the agent was told of its servers
	health  int  // counts changes of the servers, so that a late verdict is dropped
	closing bool
	// stopped is when the agent's process stopped (SIGSTOP). inbox keeps what arrives meanwhile.
	stopped bool
	inbox   []input

	// envoyRun counts Envoy's runs.
	envoyUp, envoyHung, envoyStopped, dnsHung bool
	envoyRun                                  int
	apiDark                                   bool
	reached                                   time.Duration
	unreached                                 bool
}

// boot creates the pod of an edge. Its agent and servers start later.
func (w *world) boot(number int) *pod {
	p := &pod{w: w, number: number, name: fmt.Sprintf("edge %d.%d", number+1, len(w.pods)), kernel: true, icmp: map[*pod]*bucket{},
		born: int64(w.now/time.Millisecond) + 1, frames: 1,
		address: netip.AddrFrom4([4]byte{10, 0, 0, byte(len(w.pods) + 1)})}
	p.vlan.side = number
	p.peer = neighbor{w: w, span: w.reachableTime(), sends: func() bool { return p.kernel && p.agent && !p.stopped },
		proven: func() bool { return false }, ask: p.askPeer}
	w.pods = append(w.pods, p)
	w.note("%s boots", p.name)
	return p
}

// start runs the pod's processes. The servers serve after delay.
func (p *pod) start(delay time.Duration) {
	if !p.kernel {
		return
	}
	p.envoyHung, p.envoyStopped, p.dnsHung = false, false, false
	p.startAgent()
	p.startEnvoy(delay)
}

// startEnvoy starts Envoy. It carries after delay, and the agent learns that.
func (p *pod) startEnvoy(delay time.Duration) {
	p.envoyRun++
	run := p.envoyRun
	p.w.after(delay, func() {
		if p.kernel && p.envoyRun == run {
			p.w.note("%s: Envoy carries", p.name)
			p.envoyUp, p.envoyHung = true, false
			p.verdict(true, p.w.between(0, push))
		}
	})
}

func (p *pod) startAgent() {
	if !p.kernel || p.agent {
		return
	}
	w := p.w
	p.life++
	p.leasesRead = w.now + w.between(0, 4*second)
	p.agent, p.stopped, p.closing, p.inbox, p.ready = true, false, false, nil, false
	w.note("%s: agent starts", p.name)
	p.decides = p.newDecisions(fmt.Sprintf("%s/%d", p.name, p.life))
	life := p.life
	p.reached, p.unreached = w.now, false
	w.after(w.between(0, failover.Interval), func() { p.tick(life) })
	w.after(w.between(0, failover.Interval), func() { p.reach(life) })
}

// stopAgent ends the agent's process.
func (p *pod) stopAgent() {
	if p.agent {
		p.w.note("%s: agent ends", p.name)
	}
	p.agent, p.stopped, p.life, p.inbox = false, false, p.life+1, nil
}

// kill ends every process of the pod.
func (p *pod) kill() {
	p.stopAgent()
	p.health++
	p.envoyUp, p.ready = false, false
	p.envoyRun++
}

// remove ends the pod: nothing answers at its MAC.
func (p *pod) remove() {
	p.w.note("%s is gone", p.name)
	p.kill()
	p.kernel = false
}

// verdict passes to the agent after d whether the servers serve, unless that changes before.
func (p *pod) verdict(ready bool, d time.Duration) {
	p.health++
	health := p.health
	p.w.after(d, func() {
		if p.health != health || !p.agent || p.ready == ready {
			return
		}
		p.ready = ready
		kind := notReady
		if ready {
			kind = isReady
		}
		p.handle(input{kind: kind})
	})
}

// stop stops the agent's process for d. Ticks are not repeated. Messages wait.
func (p *pod) stop(d time.Duration) {
	if !p.agent || p.stopped {
		return
	}
	w, life := p.w, p.life
	w.note("%s: agent stops for %.2f s", p.name, d.Seconds())
	p.stopped = true
	w.after(d, func() {
		if p.life != life {
			return
		}
		w.note("%s: agent continues", p.name)
		p.stopped = false
		waiting := p.inbox
		p.inbox = nil
		late := len(waiting) > 0 && w.chance(50) // a select chooses at random
		if !late {
			p.tick(life)
		}
		for _, i := range waiting {
			p.handle(i)
		}
		if late {
			p.tick(life)
		}
		p.reached = w.now
		p.reach(life)
	})
}

// freeze stops every process of the pod for d.
func (p *pod) freeze(d time.Duration) {
	p.stop(d)
	p.envoyStopped = true
	run := p.envoyRun
	p.w.after(d, func() {
		if p.envoyRun == run {
			p.envoyStopped = false
		}
	})
}

// drain ends the pod as Kubernetes does: servers continue for five seconds (preStop). Then
// gone is called.
func (p *pod) drain(gone func()) {
	if !p.kernel {
		return
	}
	w, life := p.w, p.life
	w.note("%s drains", p.name)
	p.handle(input{kind: drain})
	w.after(5*time.Second, func() {
		if p.life == life {
			p.stopAgent()
		}
		p.envoyUp = false
		p.envoyRun++
	})
	w.after(5*time.Second+w.between(100*time.Millisecond, 2*time.Second), func() {
		p.remove()
		gone()
	})
}

// tick is one Interval of the agent.
func (p *pod) tick(life int) {
	if p.life != life || p.stopped {
		return
	}
	p.frames += p.traffic()
	seen := failover.Observation{NoLink: p.noLink, Frames: p.frames, Answers: p.answers, PeerAnswers: p.peerAnswer, Probed: p.probed && len(p.w.vms) > 0 && p.w.now >= p.leasesRead}
	p.probed = false
	p.handle(input{kind: tick, seen: seen})
	jitter := p.w.between(-10*time.Millisecond, 10*time.Millisecond)
	p.w.after(failover.Interval+jitter, func() { p.tick(life) })
}

// traffic returns some of the frames that VMs sent to this pod in an Interval.
func (p *pod) traffic() (frames uint64) {
	for _, v := range p.w.vms {
		for n := 0; n < 4 && !p.w.quiet && v.hop.to() == p; n++ {
			if p.w.passes(&v.vlan, &p.vlan) {
				frames++
			}
		}
	}
	return frames
}

// handle passes one event to the decisions, and carries out what they want.
func (p *pod) handle(i input) {
	if !p.agent {
		return
	}
	if p.stopped {
		p.inbox = append(p.inbox, i)
		return
	}
	before := p.decides.view()
	do := p.decides.next(i, p.w.time())
	if after := p.decides.view(); p.w.telling && before != after {
		p.w.note("%s: %s", p.name, after)
	}
	if do.announce {
		p.w.note("%s announces", p.name)
		p.w.announcements++
		p.broadcast(3, func(v *vm) { v.hop.named(p) }, nil)
	}
	for _, a := range do.answers {
		p.send(a.Message, a.Address)
	}
	for _, m := range do.send {
		p.send(m, p.decides.peerAddress())
	}
	if do.call {
		p.broadcast(3, nil, func(t *pod) { t.hears(p) })
	}
	if do.probe {
		p.probed = true
		p.probePeer()
		p.probeVMs()
	}
	if do.close && !p.closing {
		p.closing = true
		p.stopAgent()
	}
}
