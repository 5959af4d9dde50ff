// This file decides which container of an edge's pod has the ServiceAccount's token, and which directories of
// RunDir each has.

package wire

import (
	"path/filepath"
	"slices"

	"github.com/cldmnky/oooi/network"
)

// XDS is the directory of the socket through which the proxy configures Envoy. Envoy cannot write it.
const XDS = "xds"

// Files that a container stores for others, in its own directory.
const (
	// PlanCopy is the plan as the watcher last read it from the API server.
	PlanCopy = PlanKey
	// LeaseCache holds the leases that the DHCP server knows.
	LeaseCache = "leases.json"
	// KeysFile is the JSON Web Key Set that verifies the API server's tokens. The watcher reads it from the
	// API server while the plan names ServiceAccounts that may use Access.
	KeysFile = "keys.json"
	// ReportFile is a report for the operator. The failover agent adds the reports of the proxy, the NTP
	// server and Access to its own. The watcher writes the whole report to the API server.
	ReportFile = "report.json"
	// BootsFile holds the boot steps that the DNS server or the proxy saw. The DHCP server reads it.
	BootsFile = "boots.json"
)

// Servers returns the programs of an edge of n that clients connect to.
func Servers(n network.Network) []network.Service {
	if !n.Access.HasProxy() {
		return n.Services
	}
	return append(slices.Clone(n.Services), Access)
}

// Watcher returns the program that watches the plan and writes the report for the programs without a token.
// Empty: there are no services.
func Watcher(services []network.Service) string {
	for _, s := range []network.Service{network.ServiceDHCP, network.ServiceProxy, network.ServiceDNS, network.ServiceNTP} {
		if slices.Contains(services, s) {
			return string(s)
		}
	}
	return ""
}

// HoldsToken reports whether the named program gets the ServiceAccount's token, in a pod that runs services.
// The DHCP server writes leases, and the proxy watches endpoints. If neither runs, the DNS server gets the
// token, or else the NTP server, although it parses what VMs send.
func HoldsToken(services []network.Service, program string) bool {
	switch program {
	case string(network.ServiceDHCP), string(network.ServiceProxy), ACD:
		return true
	}
	return program == Watcher(services)
}

// WatchArguments returns the flags of the named program for how it follows the plan.
func WatchArguments(services []network.Service, program string) []string {
	if HoldsToken(services, program) {
		return []string{"--watch"}
	}
	return []string{"--watched-by", Watcher(services)}
}

// A RunMount is one directory of RunDir, as a container sees it.
type RunMount struct {
	// Name is the name of the directory: a program or XDS.
	Name     string
	ReadOnly bool
}

// RunMounts returns the directories that the named program has in a pod on n. One program writes each.
func RunMounts(n network.Network, program string) []RunMount {
	services := n.Services
	out := []RunMount{{Name: program}}
	read := func(names ...string) {
		for _, name := range names {
			out = append(out, RunMount{Name: name, ReadOnly: true})
		}
	}
	switch program {
	case string(network.ServiceProxy):
		out = append(out, RunMount{Name: XDS})
		read(Envoy)
	case Envoy:
		read(XDS)
	case Failover:
		for _, s := range services {
			read(string(s))
		}
		if slices.Contains(services, network.ServiceProxy) {
			read(Envoy)
		}
		if n.Access.HasProxy() {
			read(Access)
		}
	}
	switch watcher := Watcher(services); {
	case program == watcher:
		read(Failover)
		if program == string(network.ServiceDHCP) {
			read(BootsFrom(services)...)
		}
	case program == string(network.ServiceProxy), program == string(network.ServiceDNS), program == string(network.ServiceNTP), program == Access:
		read(watcher) // The leases of a DHCP server show which VM has an address.
	}
	return out
}

// BootsFrom returns the programs that store BootsFile in a pod with a DHCP server.
func BootsFrom(services []network.Service) (out []string) {
	for _, s := range []network.Service{network.ServiceDNS, network.ServiceProxy} {
		if slices.Contains(services, s) {
			out = append(out, string(s))
		}
	}
	return out
}

// Dir returns the directory that the named program writes. Empty: runDir is empty.
func Dir(runDir, program string) string {
	if runDir == "" {
		return ""
	}
	return filepath.Join(runDir, program)
}

// File returns the path of a file that the named program stores. Empty: runDir is empty.
func File(runDir, program, name string) string {
	if runDir == "" {
		return ""
	}
	return filepath.Join(runDir, program, name)
}

// EnvoyDirs returns the directories of the proxy's sockets for Envoy, and of Envoy's own. See resources.Dirs.
func EnvoyDirs(runDir string) (proxy, envoy string) { return Dir(runDir, XDS), Dir(runDir, Envoy) }

// Socket returns the path of the named program's health socket.
func Socket(runDir, program string) string { return filepath.Join(runDir, program, program+".sock") }
