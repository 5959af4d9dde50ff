// This file makes the Observation of each tick, and probes hosts when Next asks for it. It
// decides nothing.

package failover

import (
	"context"
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/sharedfiles"
)

// leasesInterval is how often the cached leases are read while the peer is silent.
const leasesInterval = 5 * time.Second

// An observer watches one device. At each tick it counts frames and answers. It reads everything
// else when Next asks for a probe or a call.
type observer struct {
	*prober
	device, leases string
	peer           netip.Addr
	census         census
	leasesRead     time.Time
	// probing: the last tick asked for a probe. probed: that probe asked at least one VM.
	probing, probed bool
	// Field calls is the number of calls so far.
	calls int
}

// newObserver returns an observer that sends from o.Address, which the device must have.
func newObserver(ctx context.Context, o Options) (*observer, error) {
	p, err := newProber(ctx, o.Device, o.Address)
	if err != nil {
		return nil, err
	}
	return &observer{prober: p, device: o.Device, leases: o.LeaseCache, peer: o.PeerAddress, census: census{cidr: o.CIDR}}, nil
}

// observe returns what was seen until now. After an error, Frames may be 0, and Answers may miss confirmed neighbors.
func (o *observer) observe(now time.Time) (Observation, error) {
	frames, err := o.meter.Frames()
	o.collect(o.peer)
	if o.probing && err == nil {
		err = o.look(now)
	}
	return Observation{Frames: frames, Probed: o.probed, Answers: o.answers, PeerAnswers: o.peerAnswers}, err
}

// look reads the neighbor table, and counts the entries that were confirmed since the last call as answers.
func (o *observer) look(now time.Time) error {
	found, err := o.neighbors(o.census, now)
	if err == nil {
		o.census.neighbors = found
	}
	return err
}

// ask probes the peer's kernel and known VMs if wanted is true.
func (o *observer) ask(wanted bool, now time.Time) error {
	var err error
	if wanted {
		err = o.learn(now)
		vms := o.census.probed(o.round)
		o.probe(o.peer, vms)
		o.probed = len(vms) > 0
	}
	o.probing, o.probed = wanted, wanted && o.probed
	return err
}

// call makes the kernel broadcast "who has <unused address>, tell <edge address>". Each host with an ARP entry for the
// edge address, such as the peer, stores this edge's MAC in that entry. The target is in the CIDR: where arp_announce is
// above 0, the kernel asks from the device's address in the same prefix.
func (o *observer) call(now time.Time) error {
	err := o.learn(now)
	if a, ok := o.census.unused(o.calls); ok {
		o.calls++
		o.send(a)
	}
	return err
}

// learn reads the neighbors, the edges' addresses and the leases, unless they were read recently.
func (o *observer) learn(now time.Time) error {
	if !o.probing {
		if err := o.look(now); err != nil {
			return err
		}
	}
	if !o.leasesRead.IsZero() && now.Sub(o.leasesRead) < leasesInterval {
		return nil
	}
	o.leasesRead = now
	s, err := device.Read(o.device)
	if err != nil {
		return err
	}
	o.census.edges = []netip.Addr{o.peer}
	for _, p := range s.Addresses {
		o.census.edges = append(o.census.edges, p.Addr())
	}
	if o.leases == "" {
		return nil
	}
	leases, err := sharedfiles.ReadLeases(o.leases)
	o.census.leased = nil
	for _, l := range leases {
		if l.MAC != "" && l.Held(now) {
			o.census.leased = append(o.census.leased, l.Address)
		}
	}
	return err
}
