package kube

import (
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// TestReportsOfAFloodAreFew: a VM that makes up DHCP servers causes few writes, and the last
// report is written in the end.
func TestReportsOfAFloodAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		k := &Kube{leases: client.CoordinationV1().Leases("clusters-blue"), log: slog.New(slog.DiscardHandler)}
		r := k.Reporter(wire.ReportLease{Name: "oooi-report.x"})
		go r.Run(t.Context())
		r.Set(reported.EdgeReport{Edge: 1})
		second := time.NewTicker(time.Second) // of the bubble's clock
		for i := range 600 {
			<-second.C
			r.SetDHCPServers([]reported.UsedAddress{{Address: netip.MustParseAddr(fmt.Sprintf("10.0.%d.%d", i/250, i%250))}})
		}
		for range 60 {
			<-second.C
		}
		writes := 0
		for _, a := range client.Actions() {
			if a.GetVerb() != "get" {
				writes++
			}
		}
		o, err := client.CoordinationV1().Leases("clusters-blue").Get(t.Context(), "oooi-report.x", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if last := o.Annotations[wire.AnnotationReport]; last != r.current() {
			t.Errorf("the last report is not stored, but %s", last)
		}
		if writes <= 50 || writes > 75 {
			t.Errorf("%d writes, not one in ten seconds after the first ten", writes)
		}
	})
}

// TestPartsThatDoNotFit: a container that was taken over writes a report as long as its file may be. The API server accepts
// what is stored, and the operator reads it.
func TestPartsThatDoNotFit(t *testing.T) {
	servers := []reported.UsedAddress{{Address: netip.MustParseAddr("192.168.100.66"), MAC: "02:00:00:00:00:bb"}}
	const long = reported.MaxBytes - 100
	for host, want := range map[string]reported.EdgeReport{
		strings.Repeat("x", long): {Edge: 1, Level: reported.LevelServes, RefusedHosts: []string{strings.Repeat("x", long)}},
		strings.Repeat("<", long): {Edge: 1, DHCPServers: servers}, // JSON escapes it.
	} {
		r := (&Kube{}).Reporter(wire.ReportLease{Edge: 1})
		r.SetDHCPServers(servers)
		r.Set(reported.EdgeReport{Level: reported.LevelServes, RefusedHosts: []string{host}, DHCPServers: servers})
		if stored, err := reported.Read([]byte(r.current())); err != nil || string(stored.JSON()) != string(want.JSON()) {
			t.Errorf("%.200s, not %.200s (%v)", stored.JSON(), want.JSON(), err)
		}
	}
}

// TestBootsCauseNoWrite: 500 VMs boot, each with all its steps, and the report is written as often as if none did: when its time is
// renewed. It has the boots then.
func TestBootsCauseNoWrite(t *testing.T) {
	writesOf := func(t *testing.T, vms int) (writes int) {
		synctest.Test(t, func(t *testing.T) {
			client := fake.NewClientset()
			k := &Kube{leases: client.CoordinationV1().Leases("clusters-blue"), log: slog.New(slog.DiscardHandler)}
			r := k.Reporter(wire.ReportLease{Name: "oooi-report.x"})
			go r.Run(t.Context())
			second := time.NewTicker(time.Second) // of the bubble's clock
			for i := range 1200 {
				<-second.C
				r.Set(reported.EdgeReport{Edge: 1, Connected: reported.ConnectedYes})
				if i < vms {
					b := reported.Boot{VM: fmt.Sprintf("blue-%d", i), Since: time.Now(), Seen: map[network.BootStep]int{}}
					for _, s := range network.AllBootSteps() {
						b.Seen[s] = i
						r.SetBoots([]reported.Boot{b}, i)
					}
				}
			}
			for _, a := range client.Actions() {
				if a.GetVerb() != "get" {
					writes++
				}
			}
			o, err := client.CoordinationV1().Leases("clusters-blue").Get(t.Context(), "oooi-report.x", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if last := o.Annotations[wire.AnnotationReport]; last != r.current() {
				t.Errorf("the last report is not stored, but %s", last)
			}
			if r.Connected() != reported.ConnectedYes {
				t.Error("not connected")
			}
		})
		return writes
	}
	if none, many := writesOf(t, 0), writesOf(t, 500); many != none || none > 11 {
		t.Errorf("%d writes while VMs boot, and %d while none does", many, none)
	}
}
