// This file lists what fires alerts, and what must not.

package monitoring

import (
	"maps"
	"time"
)

// labels are those of an alert.
type labels map[string]string

func (l labels) with(key, value string) labels {
	out := maps.Clone(l)
	out[key] = value
	return out
}

// cluster is a HostedCluster, and vlan a network of it.
func cluster() labels { return labels{"namespace": "clusters", "name": "blue"} }
func vlan() labels    { return labels{"namespace": "clusters-blue", "network": "vlan100"} }

func faults() map[string]fault {
	out := map[string]fault{}
	for _, some := range []map[string]fault{faultsOfOperator(), faultsOfEdges(), faultsOfBackends(), faultsOfDHCP(), forgeries()} {
		maps.Copy(out, some)
	}
	return out
}

func faultsOfOperator() map[string]fault {
	return map[string]fault{
		"the operator fails":           {is: world{operatorUp: "0", standbyUp: "0"}, fires: "OooiOperatorDown"},
		"the operator is removed":      {is: world{operatorUp: "stale", standbyUp: "stale", leads: "stale", standby: "stale"}, fires: "OooiOperatorDown"},
		"no pod of the operator leads": {is: world{leads: "0"}, fires: "OooiOperatorDown"},
		"another pod leads":            {is: world{operatorUp: "0", leads: "stale", standby: "1"}},
		"the NAD is gone": {is: world{ready: "0", problem("NetworkMissing", "Error"): "1"}, fires: "OooiConfigurationNotApplied",
			labels: cluster().with("reason", "NetworkMissing")},
		"an endpoint never comes":   {is: world{ready: "0", problem("WaitingForEndpoint", "Waiting"): "1"}, fires: "OooiNetworkNotReady", labels: cluster()},
		"no registry is reachable":  {is: world{ready: "0", problem("ImagesUnreachable", "Warning"): "1"}, fires: "OooiNetworkNotReady", labels: cluster()},
		"a new cluster is paused":   {is: world{ready: "0", problem("Paused", "Waiting"): "1"}},
		"a cluster stays paused":    {is: world{problem("Paused", "Info"): "1"}, fires: "OooiPaused", labels: cluster()},
		"a condition is refused":    {is: world{written: "0"}, fires: "OooiConditionNotWritten", labels: cluster()},
		"a release fails":           {is: world{failed: "1", wave: "1"}, fires: "OooiUpdateFailed", labels: labels{"state": "failed"}},
		"an update is under way":    {is: world{wave: "2"}},
		"edges fail without update": {is: world{failed: "1"}},
		"a policy is deleted":       {is: world{policy: "0"}, fires: "OooiAdmissionPolicyMissing", labels: labels{"policy": "oooi-annotations"}},
		"one edge is not read":      {is: world{of("edge-1", "up", ""): "0"}, fires: "OooiEdgesNotScraped"},
		"no edge is found":          {is: both("up", "", "stale"), fires: "OooiEdgesNotScraped", labels: labels{"namespace": "clusters-blue"}},
		"no edge of one cluster is found": {is: world{`oooi_hosted_cluster_ready{job="oooi",namespace="clusters",name="red.x",pod="oooi-1"}`: "1"},
			fires: "OooiEdgesNotScraped", labels: labels{"namespace": "clusters-red-x"}},
		"a program is not read": {is: world{of("edge-1", "oooi_program_scraped", `,program="dhcp"`): "0"}, fires: "OooiEdgesNotScraped"},
	}
}

func faultsOfEdges() map[string]fault {
	return map[string]fault{
		"both edges fail": {is: world{ready: "0", problem("EdgeNotReady", "Error"): "1"}, fires: "OooiNoEdge", labels: cluster()},
		"no edge serves, and the operator is down": {is: merged(both("oooi_failover_ready", "", "0"), operatorLost()), fires: "OooiNetworkNotServed",
			labels: vlan(), also: []string{"OooiOperatorDown"}},
		"both edges and the operator are gone": {is: merged(both("oooi_failover_ready", "", "stale"), both("up", "", "stale"), operatorLost()),
			fires: "OooiNetworkNotServed", labels: vlan(), also: []string{"OooiOperatorDown"}},
		"no edge serves, and the operator does not notice": {is: both("oooi_failover_ready", "", "0"), fires: "OooiNetworkNotServed", labels: vlan()},
		"no edge serves, and the operator reports it": {is: merged(both("oooi_failover_ready", "", "0"), world{ready: "0", problem("EdgeNotReady", "Error"): "1"}),
			fires: "OooiNoEdge", labels: cluster()},
		"the edges of a cluster are removed": {is: both("oooi_failover_ready", "", "stale")},
		"one edge does not serve":            {is: world{of("edge-1", "oooi_failover_ready", ""): "0"}},
		"an edge fails":                      {is: world{problem("EdgeUnavailable", "Warning"): "1"}, fires: "OooiOneEdgeLeft", labels: cluster()},
		"announcements have no effect":       {is: world{of("edge-2", "oooi_failover_degraded", ""): "1"}, fires: "OooiFailoverDegraded", labels: vlan()},
		"Envoy refuses a listener": {is: world{of("edge-1", "oooi_proxy_resources_refused", ""): "1"},
			fires: "OooiEnvoyRefusesConfiguration", labels: vlan().with("pod", "edge-1")},
		"connections without a ClientHello use up Envoy": {is: world{of("edge-1", overflow, of443): growing}, fires: "OooiConnectionsRefused", labels: vlan()},
		"all connections are in use":                     {is: both(refused, `,reason="connections",port="other"`, growing), fires: "OooiConnectionsRefused", labels: vlan()},
		"a VM has its share":                             {is: both(refused, `,reason="share",port="other"`, growing)},
	}
}

// operatorLost is an operator that is gone, with all that it serves.
func operatorLost() world {
	return world{operatorUp: "stale", standbyUp: "stale", leads: "stale", standby: "stale", ready: "stale", written: "stale", failed: "stale", wave: "stale", policy: "stale",
		problem("UpdatePending", "Info"): "stale"}
}

func faultsOfBackends() map[string]fault {
	const api, oauth, external = "kube-apiserver:6443", "oauth-openshift:6443", "quay.io:443"
	return map[string]fault{
		"the API server is down":             {is: backend(api, "0", "2"), fires: "OooiBackendDown", severity: "critical", labels: vlan().with("backend", api)},
		"the API server has no endpoint":     {is: backend(api, "0", "0"), fires: "OooiAPIServerWithoutEndpoints", labels: vlan().with("backend", api)},
		"a new cluster has no endpoint yet":  {is: merged(backend(api, "0", "0"), backend(oauth, "0", "0")), lasts: 14 * time.Minute},
		"OAuth is down":                      {is: backend(oauth, "0", "1"), fires: "OooiBackendDown", severity: "warning", labels: vlan().with("backend", oauth)},
		"one edge does not reach OAuth":      {is: world{of("edge-1", endpoints, healthy(oauth)): "0", of("edge-1", endpoints, unhealthy(oauth)): "1"}},
		"an external host never resolves":    {is: backend(external, "0", "0")},
		"OAuth is cut off":                   {is: backend(oauth, "0", "0")},
		"one edge is cut off from the API":   {is: world{of("edge-1", endpoints, healthy(api)): "0"}},
		"an endpoint of the API server ends": {is: backend(api, "1", "1")},
		"no VM runs the ingress":             {is: backend("vms:443", "0", "1")},
		"the API server of a paused cluster is down": {is: merged(backend(api, "0", "2"), world{ready: "0", problem("Paused", "Info"): "1"}), fires: "OooiBackendDown",
			severity: "critical", labels: vlan().with("backend", api)},
	}
}

func faultsOfDHCP() map[string]fault {
	const others = "oooi_dhcp_other_servers"
	return map[string]fault{
		"few addresses are left":      {is: pool("185", "14"), fires: "OooiPoolNearlyFull", labels: vlan(), value: "93%"},
		"many addresses are assigned": {is: pool("170", "29")},
		"no address is left":          {is: pool("199", "0"), fires: "OooiPoolFull", labels: vlan()},
		"no address is left for a VM that asks": {is: merged(pool("199", "0"), world{ready: "0", problem("AddressesExhausted", "Warning"): "1"}),
			fires: "OooiPoolFull", labels: vlan()},
		"other hosts have the free addresses": {is: world{ready: "0", problem("AddressesExhausted", "Warning"): "1"},
			fires: "OooiAddressesExhausted", labels: labels{"namespace": "clusters-blue"}},
		"leases cannot be written": {is: world{problem("LeasesNotWritten", "Warning"): "1"}, fires: "OooiLeasesNotWritten", labels: cluster()},
		"a VM has an address of the pool": {is: world{problem("AddressInUse", "Warning"): "1"},
			fires: "OooiAddressConflict", severity: "warning", labels: cluster()},
		"a host has the next-hop VIP": {is: world{ready: "0", problem("AddressInUse", "Error"): "1"},
			fires: "OooiAddressConflict", severity: "critical", labels: cluster()},
		"a VM runs a DHCP server": {is: world{of("edge-1", others, ""): "1"}, fires: "OooiRogueDHCPServer", labels: vlan()},
	}
}

// forgeries are metrics that a program of an edge serves after a VM took it over. They fire nothing, and silence nothing.
func forgeries() map[string]fault {
	forged := func(metric, more string) string { return ofProgram("dns", "edge-1", metric, more) }
	claim := `,name="blue",reason="NetworkMissing",severity="Error"`
	return map[string]fault{
		"a program forges metrics of the operator": {is: world{
			forged("oooi_hosted_cluster_problems", claim): "1", forged("oooi_hosted_cluster_ready", `,name="blue"`): "0",
			forged("oooi_hosted_cluster_condition_written", `,name="blue"`): "0", forged("oooi_admission_policy_in_force", `,policy="x"`): "0",
			forged("oooi_update_clusters", `,state="failed"`): "1", forged("oooi_update_wave", ""): "1",
		}},
		"a program forges metrics of another one": {is: world{
			forged("oooi_failover_degraded", ""): "1", forged("oooi_dhcp_other_servers", ""): "1", forged("oooi_dhcp_addresses", `,state="free"`): "0",
			forged("oooi_proxy_resources_refused", ""): "1", forged(overflow, of443): growing,
		}},
		"a program says that the operator leads": {is: world{leads: "0", forged("leader_election_master_status", `,name="x"`): "1"}, fires: "OooiOperatorDown"},
		"a program says that the API server is healthy": {
			is:    merged(backend("kube-apiserver:6443", "0", "2"), world{forged(endpoints, healthy("kube-apiserver:6443")): "2"}),
			fires: "OooiBackendDown", severity: "critical", labels: vlan().with("backend", "kube-apiserver:6443")},
	}
}
