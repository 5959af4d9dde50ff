// This file holds what clients notice while leases cannot be written.

package dhcp_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// A stuck store answers about writes after its end.
type stuck struct {
	*leases.Memory
	asked chan netip.Addr
	end   chan struct{}
}

func (s stuck) Replace(ctx context.Context, was, next network.Lease) error {
	s.asked <- next.Address
	<-s.end
	return s.Memory.Replace(ctx, was, next)
}

// TestRenewalDuringAWrite: a client renews its lease while a write is in progress that another host has caused with the client's MAC.
func TestRenewalDuringAWrite(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	w := NewWithT(t)
	memory := &leases.Memory{}
	l := network.Lease{Address: at("20"), MAC: mac1, VM: "blue-worker-1", Expires: time.Now().Add(24 * time.Hour).Truncate(time.Second)}
	w.Expect(memory.Replace(t.Context(), network.Lease{}, l)).To(Succeed())
	store := stuck{memory, make(chan netip.Addr, 10), make(chan struct{})}
	s := serveFrom(t, blue(), store)
	t.Cleanup(func() { close(store.end) })
	forger, client := s.station("192.168.100.250/24"), s.station("192.168.100.20/24")
	forger.send(message(request, mac1, server(us), asks("20")), everybody)
	w.Eventually(store.asked).Should(Receive())
	client.send(message(request, mac1, has("20")), us+":67")
	reply, _ := client.hears(patience.Limit)
	w.Expect(reply).NotTo(BeNil())
	w.Expect(reply.MessageType()).To(Equal(ack))
}

// An unwilling store answers, and writes nothing.
type unwilling struct {
	*leases.Memory
	refused *int
}

func (s unwilling) Replace(context.Context, network.Lease, network.Lease) error {
	*s.refused++
	return errors.New("exceeded quota")
}

// processing is a server without sockets, for Process.
func processing(t *testing.T, n network.Network, store dhcp.Store, all reply.VMs) *dhcp.Server {
	t.Helper()
	metrics := dhcp.NewMetrics(prometheus.NewRegistry())
	return (&dhcp.Server{
		Network: func() network.Network { return n }, Store: store, VMs: all, Metrics: metrics, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return now },
	}).Start()
}

// TestRefusedWrites: while the store rejects writes, renewals are granted for as long as the stored lease allows. Not every renewal causes
// another write.
func TestRefusedWrites(t *testing.T) {
	w := NewWithT(t)
	memory := &leases.Memory{}
	w.Expect(memory.Replace(t.Context(), network.Lease{}, held("20", mac1, time.Minute))).To(Succeed())
	refused := 0
	s := processing(t, blue(), unwilling{memory, &refused}, reply.NoVMs{})
	for range 100 {
		v := s.Process(t.Context(), message(request, mac1, has("20")), at("3"))
		w.Expect(v.Outcome).To(Equal(reply.Granted))
		w.Expect(v.Answer).NotTo(BeNil())
	}
	w.Expect(refused).To(Equal(1))
	s.Tend(t.Context())
	w.Expect(refused).To(Equal(2), "it is tried again from time to time")
}

// TestOfferOfAnother: an unknown client that received the offer for a VM does not get the VM's address.
func TestOfferOfAnother(t *testing.T) {
	w := NewWithT(t)
	memory := &leases.Memory{}
	s := processing(t, blue(), memory, vms{mac1: "blue-worker-1"})
	offered := s.Process(t.Context(), message(discover, mac1), at("3")).Address
	takes := func(mac string) *dhcpv4.DHCPv4 { return message(request, mac, server(us), asks(offered.String())) }
	w.Expect(s.Process(t.Context(), takes(mac2), at("3")).Outcome).To(Equal(reply.Refused))
	w.Expect(s.Process(t.Context(), takes(mac1), at("3")).Outcome).To(Equal(reply.Granted))
}
