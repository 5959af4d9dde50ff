package controllers

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// faultsOfEdges are those of edges, as their Deployments and their reports show them.
func faultsOfEdges() []fault {
	rogue := []reported.UsedAddress{{Address: netip.MustParseAddr("192.168.100.66"), MAC: "02:00:00:00:00:66"}}
	long := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	const other = "everything through the other edge"
	return []fault{
		{name: "The node of an edge is gone", sees: "Warning EdgeUnavailable", words: "is not ready", keeps: other, inject: edgesAre(1, unavailableStatus())},
		{name: "The nodes of all edges are gone", sees: "Error EdgeNotReady", words: "no other edge", dark: true, keeps: "nothing on that network", inject: edgesAre(2, unavailableStatus())},
		{name: "The image of an edge is missing", sees: "Warning EdgeUnavailable", words: "is not ready", keeps: other,
			inject: edgesAre(1, unavailableStatus(appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}))},
		{name: "The pod of an edge is refused", sees: "Warning EdgeUnavailable", words: "cannot be created (no pods today)", keeps: other,
			inject: edgesAre(1, unavailableStatus(appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "no pods today"}))},
		{name: "Another DHCP server answers on the network", sees: "Warning RogueDHCPServer", words: "192.168.100.66", keeps: "everything for VMs that take the edges' offer",
			inject: reporting(reported.EdgeReport{DHCPServers: rogue})},
		{name: "A host answers for a VIP while both edges serve", sees: "Warning AddressInUse", words: "02:00:00:00:00:66", keeps: "everything for VMs that send to an edge",
			inject: reporting(reported.EdgeReport{VIPHosts: []reported.UsedAddress{{Address: netip.MustParseAddr("192.168.100.2"), MAC: "02:00:00:00:00:66"}}})},
		{name: "A host answers for an edge address", sees: "Warning AddressInUse", words: "02:00:00:00:00:66", keeps: "everything; failover may be slow",
			inject: reporting(reported.EdgeReport{PeerHosts: []reported.UsedAddress{{Address: netip.MustParseAddr("192.168.100.5"), MAC: "02:00:00:00:00:66"}}})},
		{name: "Two pods run as one edge", sees: "Warning EdgeDuplicated", words: "Two pods", keeps: "everything", inject: reporting(reported.EdgeReport{PeerDuplicated: true})},
		{name: "The VLAN is cut between the edges", sees: "Warning EdgesPartitioned", words: "7788", keeps: "everything for VMs that reach an edge",
			inject: reporting(reported.EdgeReport{Peer: reported.PeerUnreachable, PeerSilent: true})},
		{name: "An edge receives nothing from the VLAN", sees: "Warning EdgeImpaired", words: "receives nothing", keeps: other, inject: reporting(reported.EdgeReport{Deaf: true})},
		{name: "The edges serve different plans", sees: "Warning EdgesServeDifferentPlans", words: "older plan", keeps: "everything; one edge has previous names",
			inject: reporting(reported.EdgeReport{PlansDiffer: true})},
		{name: "Failover announcements have no effect", sees: "Warning FailoverDegraded", words: "proxy ARP", keeps: "everything; failover takes up to 50 s",
			inject: reporting(reported.EdgeReport{Degraded: reported.Degradation{Cause: problem.FailoverTargetsAnswered}})},
		{name: "A router advertises a route to an edge", sees: "Warning RogueRouter", words: "route", keeps: "everything",
			inject: reporting(reported.EdgeReport{Believes: []problem.Cause{problem.EdgeHasAdvertisedRoute}})},
		{name: "The kernel of an edge does not verify sources", sees: "Warning SourcesUnverified", words: "source", keeps: "everything",
			inject: reporting(reported.EdgeReport{Believes: []problem.Cause{problem.EdgeAnswersForgedSources}})},
		{name: "The clock of an edge's node is not synchronized", sees: "Warning ClockUnsynchronized", words: "edge 1", keeps: "everything but the time for VMs of that edge",
			inject: reporting(reported.EdgeReport{ClockUnsynchronized: reported.ClockFault{Cause: problem.ClockNotSet}})},
		{name: "An external host is inside the management cluster", sees: "Warning NotPermitted", words: "quay.io", keeps: "all but that host",
			inject: reporting(reported.EdgeReport{RefusedHosts: []string{"quay.io:443"}})},
		{name: "No address is left in the DHCP pool", sees: "Warning AddressesExhausted", bootless: true, words: "2 declined and 0 used", keeps: "everything for VMs that have an address",
			inject: reporting(reported.EdgeReport{DHCP: reported.DHCPReport{Exhausted: reported.PoolExhaustion{Since: long, PoolUse: reported.PoolUse{Size: 244, Assigned: 242, Declined: 2}}}})},
		{name: "Another host has an address of the DHCP pool", sees: "Warning AddressInUse", words: "dhcp-exclude", keeps: "everything; VMs get other addresses",
			inject: reporting(reported.EdgeReport{DHCP: reported.DHCPReport{InUse: rogue}})},
		{name: "Another client has a reserved address", sees: "Warning AddressInUse", words: "is reserved for MAC 02:00:00:00:00:01", keeps: "everything; that VM gets another address",
			inject: reporting(reported.EdgeReport{DHCP: reported.DHCPReport{Reserved: []reported.ReservationInUse{{UsedAddress: rogue[0], ReservedFor: "02:00:00:00:00:01"}}}})},
		{name: "The API server refuses the Leases of an edge", sees: "Warning LeasesNotWritten", words: "a ResourceQuota is exceeded", keeps: "everything for VMs that have an address",
			inject: reporting(reported.EdgeReport{DHCP: reported.DHCPReport{NotWritten: reported.LeasesUnwritten{Since: long, Error: "a ResourceQuota is exceeded"}}})},
		{name: "The API server refuses renewed Leases of both edges", sees: "Warning LeasesNotWritten", words: "keep it until", keeps: "the addresses of VMs for one lease time at least",
			inject: reporting(reported.EdgeReport{DHCP: reported.DHCPReport{NotWritten: reported.LeasesUnwritten{Since: long, RenewalsSince: long}}})},
		{name: "Envoy rejects its configuration (NACK)", sees: "Warning EdgeImpaired", words: "duplicate matcher", keeps: "everything, with the previous listeners",
			inject: reporting(reported.EdgeReport{EnvoyRefuses: reported.Refusal{Type: "listener", Name: "192.168.100.3:443", Error: "duplicate matcher"}})},
		{name: "No endpoint of a backend accepts connections of an edge", sees: "Warning EdgeImpaired", words: "no endpoint of kube-apiserver:6443 that answers", keeps: "everything else",
			inject: reporting(reported.EdgeReport{DarkBackends: []string{"kube-apiserver:6443", "in no plan:1"}})},
		{name: "A new VM does not become a node", sees: "Warning NodesNotJoining", words: "reached Ignition at 2026-03-04T05:06:07Z, but not the API server", keeps: "everything for other VMs",
			inject: reporting(reported.EdgeReport{Connected: reported.ConnectedYes, Boots: []reported.Boot{{VM: "blue-worker-9", Since: long, Seen: map[network.BootStep]int{network.BootIgnition: 0}, Late: true}}})},
		{name: "The clock of a node is off", unreported: true, keeps: "everything; leases and the clocks of VMs follow that clock"},
	}
}

// unavailableStatus is the status of a Deployment whose pod is not ready.
func unavailableStatus(more ...appsv1.DeploymentCondition) appsv1.DeploymentStatus {
	down := appsv1.DeploymentCondition{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
	if len(more) == 0 {
		more = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}}
	}
	return appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, Conditions: append(more, down)}
}

// edgesAre gives so many edges this status.
func edgesAre(count int, status appsv1.DeploymentStatus) func(t *testing.T, h hosted) func() {
	return func(t *testing.T, h hosted) func() {
		for _, d := range h.deployments(t, "vlan100")[2-count:] {
			before := d.DeepCopy()
			d.Status = *status.DeepCopy()
			d.Status.ObservedGeneration = d.Generation
			NewWithT(t).Expect(h.admin.Status().Patch(t.Context(), &d, client.MergeFrom(before))).To(Succeed())
		}
		return func() {}
	}
}

// reporting is the report of the first edge.
func reporting(r reported.EdgeReport) func(t *testing.T, h hosted) func() { return reportingAs(1, r) }

// reportingAs is the report of the edge with this number.
func reportingAs(edge int, r reported.EdgeReport) func(t *testing.T, h hosted) func() {
	return func(t *testing.T, h hosted) func() {
		r.Edge = edge
		lease := wire.EdgeReportLease(h.network("vlan100"), network.Edge{Number: edge})
		report := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: h.ns, Name: lease.Name, Labels: lease.Labels, Annotations: map[string]string{wire.AnnotationReport: string(r.JSON())}}}
		return h.create(t, report)
	}
}
