package kube

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/network"
)

// TestListsAreReadInPages: an edge reads a long list in pages, keeps what it uses of each object, and sees
// every object once. A page that cannot be read is an error, so the list is read again.
func TestListsAreReadInPages(t *testing.T) {
	g := gomega.NewWithT(t)
	const all = 3*pageSize + 1
	expires := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	largest, fails := 0, false
	server := &cache.ListWatch{
		ListFunc: func(o metav1.ListOptions) (runtime.Object, error) {
			from, _ := strconv.Atoi(o.Continue)
			if fails && from > 0 {
				return nil, errors.New("no route to host")
			}
			list := &coordinationv1.LeaseList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
			for i := from; i < all && (o.Limit == 0 || i < from+int(o.Limit)) && o.ResourceVersion != "0"; i++ {
				l := network.Lease{Address: netip.AddrFrom4([4]byte{10, 7, 0, byte(i)}), MAC: fmt.Sprintf("02:00:00:00:00:%02x", i), VM: "blue", Expires: expires}
				object := leaseobject.Of("clusters.vlan100", l, time.Hour, expires)
				object.ResourceVersion = strconv.Itoa(i + 1)
				list.Items = append(list.Items, *object)
			}
			if from += len(list.Items); from < all {
				list.Continue = strconv.Itoa(from)
			}
			largest = max(largest, len(list.Items))
			return list, nil
		},
		WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return nil, apierrors.NewBadRequest("an API server that does not stream lists")
			}
			return watch.NewFake(), nil
		},
	}
	p := newPagedLister(server, keepLease, nil)
	out, err := p.ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(largest).To(gomega.Equal(pageSize))
	g.Expect(out.(*keptList).ResourceVersion).To(gomega.Equal("7"))
	g.Expect(out.(*keptList).Items).To(gomega.HaveLen(all))
	last := out.(*keptList).Items[all-1].(*keptLease)
	g.Expect(last.lease.AsWritten()).To(gomega.Equal(network.Lease{Address: netip.AddrFrom4([4]byte{10, 7, 0, all - 1}), MAC: "02:00:00:00:00:96", VM: "blue", Expires: expires}))
	g.Expect(last.Labels).To(gomega.BeEmpty())
	fails = true
	_, err = p.ListWithContext(t.Context(), metav1.ListOptions{})
	g.Expect(err).To(gomega.MatchError("no route to host"))

	fails = false
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s := &Leases{versions: map[netip.Addr]string{}, written: map[netip.Addr]time.Time{}, lost: map[netip.Addr]bool{}}
	_, s.seen = follow(ctx, server, &coordinationv1.Lease{}, keepLease, on(s.take, s.observeDeletion), nil)
	g.Eventually(s.Ready, "1m").Should(gomega.Succeed())
	g.Eventually(s.Len, "1m").Should(gomega.Equal(all))
}
