// This file holds the output of `oooi status` as a value. Scripts rely on its JSON.

package status

import (
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
)

// statusVersion is the version of the JSON output. Within a version, fields are added, but not renamed or removed.
const statusVersion = "v1"

// An Output is the output of `oooi status` about one hosted cluster: one line of `oooi status -o json`. Scripts rely on
// it.
type Output struct {
	Version      string           `json:"version"`
	Cluster      string           `json:"cluster"`
	ControlPlane string           `json:"controlPlaneNamespace"`
	Boot         statusAnswer     `json:"boot"`
	Condition    *statusCondition `json:"condition"`
	Networks     []Network        `json:"networks"`
	Problems     []statusProblem  `json:"problems"`
	// Other are the DHCP leases on networks that are not in the plan.
	Other []statusLease `json:"otherLeases,omitempty"`
	// Events are the newest Warning events about the HostedCluster and its edges, the newest first, at most five.
	Events []statusEvent `json:"events,omitempty"`
	// EventsUnread says in sentences which events could not be read.
	EventsUnread []string `json:"eventsUnread,omitempty"`
	// Notes are sentences about external hosts, about problems that are not shown, and about a recovery from a backup.
	Notes []string `json:"notes,omitempty"`
	// Unread says in sentences what could not be read.
	Unread []string `json:"unread,omitempty"`
	// Blind is true if the user lacks rights, so that it stays unknown whether the condition is about the current settings.
	Blind bool `json:"-"`
	// vm is the VM that the text is about. Empty: the whole cluster.
	vm string
}

type statusAnswer struct {
	Answer explain.Answer `json:"answer"`
	Why    string         `json:"why"`
}

type statusCondition struct {
	Status string    `json:"status"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
	// Current says whether the condition and the operator's status are about the current objects.
	Current statusAnswer `json:"current"`
	// Message are the lines of the condition's message. It is set only if the operator's status cannot be used.
	Message []string `json:"message,omitempty"`
}

// A Network is a network that edges serve.
type Network struct {
	Name       string       `json:"name"`
	Primary    bool         `json:"primary"`
	CIDR       netip.Prefix `json:"cidr"`
	NextHopVIP netip.Addr   `json:"nextHopVIP"`
	ServiceVIP netip.Addr   `json:"serviceVIP"`
	// Services are the servers that edges run.
	Services  []network.Service `json:"services"`
	Edges     []Edge            `json:"edges"`
	Endpoints []Target          `json:"endpoints"`
	Hosts     []Target          `json:"allowedHosts"`
	// Access is left out if annotation management-access opens nothing on the network.
	Access *Access `json:"access,omitempty"`
	// Leases is null if they could not be read.
	Leases []statusLease `json:"leases"`
	// Boots are the VMs that edges report as booting for the first time. VMs that are not nodes yet come first.
	// BootsOmitted is the number of further VMs that are not nodes yet, and that no report lists.
	Boots        []Boot `json:"boots,omitempty"`
	BootsOmitted int    `json:"bootsOmitted,omitempty"`
}

// A Boot is the progress of a VM that boots for the first time.
type Boot struct {
	VM string `json:"vm"`
	// Since is when an edge first saw that the VM runs.
	Since time.Time  `json:"since"`
	Steps []BootStep `json:"steps"`
	// Missing is the next step. Empty: the VM is a node.
	Missing network.BootStep `json:"missing,omitempty"`
	// Late is true if the step has been missing for more than ten minutes.
	Late bool `json:"late,omitempty"`
}

// A BootStep is a step of a boot, and when edges first saw it. Nil: they have not seen it.
type BootStep struct {
	Step network.BootStep `json:"step"`
	Seen *time.Time       `json:"seen,omitempty"`
}

// An Edge is one edge of a network.
type Edge struct {
	Number     int            `json:"number"`
	Deployment string         `json:"deployment"`
	Address    netip.Addr     `json:"address"`
	Ready      explain.Answer `json:"ready"`
	CarriesVMs explain.Answer `json:"carriesVMs"`
	// Level is the level in the edge's report: nothing, serves (its servers answer) or reaches (it also reaches the API
	// server). Empty: unknown.
	Level string `json:"level,omitempty"`
	// NotServing says why the edge is not ready. Empty: it is ready, or that is unknown.
	NotServing string `json:"notServing,omitempty"`
	// UnavailableSince is when the operator first saw that the edge is unavailable. Nil: the edge is ready, or the time is
	// unknown.
	UnavailableSince *time.Time `json:"unavailableSince,omitempty"`
	// ReportedLast is the time of the edge's last report. It is set only if the report is too old to be used.
	ReportedLast *time.Time `json:"reportedLast,omitempty"`
}

// A Target is an address of edges, and the backend to which they forward connections to it.
type Target struct {
	// Names are the TLS server names that select the backend. Empty: it gets all connections that other targets of the
	// address do not get.
	Names   []string       `json:"names"`
	Address netip.AddrPort `json:"address"`
	Backend string         `json:"backend"`
	// Health says what edges and EndpointSlices show about the backend, in words. State is the same as a value.
	Health string      `json:"health"`
	State  HealthState `json:"-"`
	// Resolves says whether edges resolve the name of an allowed host: Yes if they report that they refuse its address, else
	// Unknown. Empty: the backend is not an allowed host.
	Resolves explain.Answer `json:"resolves,omitempty"`
	// Needed is true if nodes need the backend to become a working part of their cluster.
	Needed bool `json:"-"`
}

type statusLease struct {
	// Network is the value of the network's label (see wire.NetworkLabel).
	Network string     `json:"network"`
	Address netip.Addr `json:"address"`
	VM      string     `json:"vm,omitempty"`
	MAC     string     `json:"mac,omitempty"`
	Until   time.Time  `json:"until"`
	State   string     `json:"state"`
}

type statusEvent struct {
	// Time is that of the last occurrence.
	Time time.Time `json:"time"`
	// Object is KIND NAMESPACE/NAME.
	Object string `json:"object"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

type statusProblem struct {
	explain.ReportProblem
	// Page is the URL with the complete fix.
	Page string `json:"page"`
}
