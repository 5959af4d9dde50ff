// This file has the rows of the table. No label has a value that a VM or another client can choose.

package metrics

var (
	HostedClusterReady = gauge(Operator, "oooi_hosted_cluster_ready",
		"1 if the networks of a hosted cluster that opted in are ready.", "namespace", "name")
	HostedClusterProblems = gauge(Operator, "oooi_hosted_cluster_problems",
		"Problems of a hosted cluster, by reason and severity. A reason without a problem has no series.", "namespace", "name", "reason", "severity")
	HostedClusterConditionWritten = gauge(Operator, "oooi_hosted_cluster_condition_written",
		"0 if the API server does not accept the condition, so the condition is outdated.", "namespace", "name")
	HostedClusterReconciles = counter(Operator, "oooi_hosted_cluster_reconciles_total",
		"Reconciles of a hosted cluster that opted in, by outcome: done, or failed (and tried again).", "namespace", "name", "outcome")
	HostedClusterPlanHash = gauge(Operator, "oooi_hosted_cluster_plan_hash",
		"Hash of the part of the plan that is for this network. If an edge has the operator's release and serves this part, its oooi_failover_plan_hash has the same value.", "namespace", "name", "network")
	ObjectWrites = counter(Operator, "oooi_object_writes_total",
		"Objects that the operator created or corrected.", "kind")
	KindWatched = gauge(Operator, "oooi_kind_watched",
		"1 if the API server has this kind of object, and the operator watches it.", "kind")
	AdmissionPolicyInForce = gauge(Operator, "oooi_admission_policy_in_force",
		"1 if the API server has this ValidatingAdmissionPolicy and its binding, and both are as installed.", "policy")
	ServiceRangeKnown = gauge(Operator, "oooi_service_range_known",
		"1 if the operator knows the IP range of the management cluster's Services. Edges do not connect VMs to addresses in this range.")
	EnvironmentRead = gauge(Operator, "oooi_environment_read",
		"1 if the operator could read this source, or if the source does not exist. All hosted clusters share the sources.", "source")
	UpdateWave = gauge(Operator, "oooi_update_wave",
		"Current wave of the update to the operator's release: 1, 2 or 3. 0 if all edges have this release.")
	UpdateClusters = gauge(Operator, "oooi_update_clusters",
		"Hosted clusters, by state of their update: waiting, blocked, updating, updated, unproven, failed or paused. Blocked: the update did not begin when it was the cluster's turn. Unproven: the update took too long, or the updated edges serve nothing for a cause other than the release.", "state")
)

// Metrics of the failover agent, and of the edge as a whole.
var (
	ProgramScraped = own(Failover, "oooi_program_scraped",
		"1 if this program of the edge answered with its metrics.", "program")
	ProgramSeriesDropped = own(Failover, "oooi_program_series_dropped",
		"Series of this program that the edge dropped, because the program has too many.", "program")
	FailoverReady = function(Failover, "oooi_failover_ready",
		"1 if this edge is ready: it serves, and its peer has seen that it serves.")
	FailoverPhase = gauge(Failover, "oooi_failover_phase",
		"1 for the current phase of this edge: starting, serving or draining. 0 for the other phases.", "phase")
	FailoverLevel = gauge(Failover, "oooi_failover_level",
		"1 for the current level of this edge: nothing, serves (it serves VMs), or reaches (it also reaches the hosted API server).", "level")
	FailoverPeer = gauge(Failover, "oooi_failover_peer",
		"1 for the current state of the peer, as this edge sees it. State alone: the network has only one edge.", "state")
	FailoverPath = gauge(Failover, "oooi_failover_path",
		"1 if this edge receives heartbeats of the peer over this path: vlan, or cluster (the pod network).", "path")
	FailoverDuplicated = gauge(Failover, "oooi_failover_duplicated",
		"1 if two pods run as the same edge. Label edge is own (a younger pod replaces this one), or peer.", "edge")
	FailoverAnnouncements = counter(Failover, "oooi_failover_announcements_total",
		"Failover announcements, by result: sent or failed.", "result")
	FailoverBegun = counter(Failover, "oooi_failover_begun_total",
		"Failovers that this edge started with an announcement of the VIPs, by cause.", "cause")
	FailoverDegraded = gauge(Failover, "oooi_failover_degraded",
		"1 if announcements have no effect, so failover is slow for VMs.")
	FailoverPlanHash = gauge(Failover, "oooi_failover_plan_hash",
		"Hash of the part of the plan for this network that this edge serves. Two edges with the same plan and release have the same hash.")
)

var (
	DHCPMessages = counter(DHCP, "oooi_dhcp_messages_total",
		"DHCP messages of clients, by type and outcome.", "type", "outcome")
	DHCPDropped = counter(DHCP, "oooi_dhcp_dropped_total",
		"Messages that the edge did not process, and replies that it did not send, by reason.", "reason")
	DHCPLeaseWriteSeconds = histogram(DHCP, "oooi_dhcp_lease_write_seconds",
		"Time until a lease was stored, as a histogram. Results: written, later (granted from memory and stored later), failed, or contended (other writes came first).", []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5}, "result")
	DHCPLeasesUnwritten = gauge(DHCP, "oooi_dhcp_leases_unwritten",
		"Renewals that the edge granted, but has not written to the API server yet.")
	DHCPAddresses = gauge(DHCP, "oooi_dhcp_addresses",
		"Addresses of the pool: assigned, declined or free.", "state")
	DHCPAddressesInUse = gauge(DHCP, "oooi_dhcp_addresses_in_use",
		"Addresses in the pool, and addresses in reservations, that other hosts use.")
	DHCPOtherServers = gauge(DHCP, "oooi_dhcp_other_servers",
		"Other DHCP servers on the network that the edge saw recently.")
)

var (
	DNSQuestions = counter(DNS, "oooi_dns_questions_total",
		"Answered queries. Label view is vms, clients (of client networks) or pods (of the management cluster). The source of the answer is in label by: plan, cache, upstream, stale (an expired answer) or none (refused).", "view", "by", "rcode")
	DNSAnswerSeconds = histogram(DNS, "oooi_dns_answer_seconds",
		"Time from a query to its answer, as a histogram.", []float64{.00001, .0001, .001, .01, .05, .1, .5, 1, 2, 5}, "by")
	DNSUpstreamQuestions = counter(DNS, "oooi_dns_upstream_questions_total",
		"Queries to upstream servers, by outcome: a response code, failed, or canceled (another server was faster).", "server", "outcome")
	DNSUpstreamUp = gauge(DNS, "oooi_dns_upstream_up",
		"1 if the upstream server answers. 0 if it does not answer, or if the edge has no route to it. Until a server answers again, the edge sends it only probes.", "server")
	DNSCacheBytes = gauge(DNS, "oooi_dns_cache_bytes",
		"Bytes of memory for cached answers of upstream servers.", "view")
	DNSCacheEvicted = counter(DNS, "oooi_dns_cache_evicted_total",
		"Answers that the edge evicted from its cache, because the cache was full.", "view")
	DNSShed = counter(DNS, "oooi_dns_shed_total",
		"Queries, answers and connections that the edge dropped, by reason.", "reason")
	DNSPanics = counter(DNS, "oooi_dns_panics_total",
		"Queries that caused a panic. The client gets SERVFAIL. The log shows at most one panic a minute.")
)

// Metrics of the proxy, besides those of its Envoy.
var (
	ProxyReady = function(Proxy, "oooi_proxy_ready",
		"1 if every listener of the plan accepts connections.")
	ProxyBackendsCutOff = gauge(Proxy, "oooi_proxy_backends_cut_off",
		"Backends that the edge cannot reach through the pod network. The edge closes connections to these backends.")
	ProxyAccessLogConnections = counter(Proxy, "oooi_proxy_access_log_connections_total",
		"Ended connections that the access log covers, by outcome: logged, or dropped (above the limit of lines).", "outcome")
	ProxyBackendEndpoints = own(Proxy, "oooi_proxy_backend_endpoints",
		"Endpoints of a backend, by state: healthy or unhealthy. Unhealthy endpoints get connections only if none is healthy.", "backend", "state")
	ProxyResourcesRefused = function(Proxy, "oooi_proxy_resources_refused",
		"Parts of the configuration (listeners, clusters or endpoints) that Envoy rejects. Envoy keeps the previous version of each part.")
	ProxyConnectionsCounted = function(Proxy, "oooi_proxy_connections_counted",
		"1 if the kernel lists the connections of VMs, so that the edge can limit each VM to its share.")
	ProxyConnectionsRefused = counter(Proxy, "oooi_proxy_connections_refused_total",
		"Connections of VMs that the edge closed immediately, by reason and kind of port: api (ports of the API server) or other.", "reason", "port")
)

var (
	AccessRequests = counter(Access, "oooi_access_requests_total",
		"Connections of callers, by outcome: opened, or the reason why the edge opened no tunnel.", "outcome")
	AccessWaiting = gauge(Access, "oooi_access_waiting",
		"Open connections of callers that have not sent a complete request yet.")
	AccessTunnels = gauge(Access, "oooi_access_tunnels",
		"Open tunnels, and tunnels for which the edge is still connecting to the destination.")
	AccessTunnelsEnded = counter(Access, "oooi_access_tunnels_ended_total",
		"Ended tunnels, by the way in which they ended.", "end")
	AccessBytes = counter(Access, "oooi_access_bytes_total",
		"Bytes that tunnels carried, by direction: to destinations, or to callers.", "to")
	AccessKeys = function(Access, "oooi_access_keys",
		"Number of the API server's keys with which the edge verifies tokens.")
)

var (
	NTPQuestions = counter(NTP, "oooi_ntp_questions_total",
		"NTP queries, by outcome. Outcomes: answered, unsynchronized (answered without a time), dropped (above a limit), invalid (not a query), foreign (not from a client) or failed (answer not sent).", "outcome")
	NTPClockSynchronized = function(NTP, "oooi_ntp_clock_synchronized",
		"1 if the kernel says that the clock of the node is synchronized.")
	NTPClockMaxErrorSeconds = function(NTP, "oooi_ntp_clock_max_error_seconds",
		"The largest possible difference between the clock of the node and UTC, as the kernel estimates it. 16 if the difference is unknown.")
)
