// This file holds the output of `oooi status` as a value. Scripts rely on its JSON.

package status

import (
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
)

// statusVersion is the version of the output as JSON. Fields are only added within a version.
const statusVersion = "v1"

// An Output is one line of `oooi status -o json`. Scripts rely on it.
type Output struct {
	Version      string           `json:"version"`
	Cluster      string           `json:"cluster"`
	ControlPlane string           `json:"controlPlaneNamespace"`
	Boot         statusAnswer     `json:"boot"`
	Condition    *statusCondition `json:"condition"`
	Networks     []Network        `json:"networks"`
	Problems     []statusProblem  `json:"problems"`
	// Other are the leases on networks that are not in the plan.
	Other []statusLease `json:"otherLeases,omitempty"`
	// Events are the newest Warning events about the HostedCluster and its edges, the newest first, at most five.
	Events []statusEvent `json:"events,omitempty"`
	// EventsUnread says which events are missing.
	EventsUnread []string `json:"eventsUnread,omitempty"`
	// Notes about external hosts, problems that are not shown, and a recovery from a backup.
	Notes []string `json:"notes,omitempty"`
	// Unread says what could not be read.
	Unread []string `json:"unread,omitempty"`
	// Blind is true if rights are missing to show whether the condition is about the current settings.
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
	// Message has the lines of the condition's message if the operator's status cannot be used.
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
	// Boots are the VMs that edges report as booting for the first time, those that are not nodes yet first. BootsOmitted is how
	// many of these edges do not list.
	Boots        []Boot `json:"boots,omitempty"`
	BootsOmitted int    `json:"bootsOmitted,omitempty"`
}

// A Boot is how far a VM has come that boots for the first time.
type Boot struct {
	VM string `json:"vm"`
	// Since is when an edge first saw that the VM runs.
	Since time.Time  `json:"since"`
	Steps []BootStep `json:"steps"`
	// Missing is the next step. Empty: the VM is a node.
	Missing network.BootStep `json:"missing,omitempty"`
	// Late: the step has been missing for more than ten minutes.
	Late bool `json:"late,omitempty"`
}

// A BootStep is when edges first saw a step. Nil: they did not see it.
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
	// Level that the edge reports: nothing, serves or reaches. Empty: unknown.
	Level string `json:"level,omitempty"`
	// NotServing is why its servers do not serve. Empty: they serve, or it is unknown.
	NotServing string `json:"notServing,omitempty"`
	// UnavailableSince is when the operator saw that it became unavailable. Nil: it is available, or it is unknown.
	UnavailableSince *time.Time `json:"unavailableSince,omitempty"`
	// ReportedLast is the time of its last report if the report is too old to count.
	ReportedLast *time.Time `json:"reportedLast,omitempty"`
}

// A Target is the backend for connections to names.
type Target struct {
	// Names that VMs ask for. Empty: each name that resolves to the address.
	Names   []string       `json:"names"`
	Address netip.AddrPort `json:"address"`
	Backend string         `json:"backend"`
	// Health says what edges and EndpointSlices show about the backend, in words. State is the same as a value.
	Health string      `json:"health"`
	State  HealthState `json:"-"`
	// Resolves is whether edges resolve the name of an allowed host. They report only that they refuse its address. Empty: it is not
	// an allowed host.
	Resolves explain.Answer `json:"resolves,omitempty"`
	// Needed is true if nodes need it to become a working part of their cluster.
	Needed bool `json:"-"`
}

type statusLease struct {
	// Network is the label of the lease's network.
	Network string     `json:"network"`
	Address netip.Addr `json:"address"`
	VM      string     `json:"vm,omitempty"`
	MAC     string     `json:"mac,omitempty"`
	Until   time.Time  `json:"until"`
	State   string     `json:"state"`
}

type statusEvent struct {
	// Time of the last occurrence.
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
