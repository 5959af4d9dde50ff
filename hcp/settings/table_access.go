// This file has the rows of the table about management access.

package settings

import "github.com/cldmnky/oooi/network"

func accessKeys() []Key {
	return []Key{
		{Name: network.KeyAccess, On: Places{OnHostedCluster}, Default: "pods reach nothing", Example: "nodes:10250,apps:443,5432=192.168.100.60:5432",
			Meaning: "What pods of the management cluster reach through edges: at most 64 entries `[port=]destination:port`. A destination is `nodes`, `apps`, an IPv4 address of a network, or a name in `dns-records`. The entry `loadbalancers` admits anyone who reaches a load balancer of the hosted cluster. [management-access.md](management-access.md) explains the entries.",
			value:   into(limitedListOf(accessEntries()), func(s *Values) *[]network.AccessEntry { return &s.Access.Entries })},
		{Name: network.KeyAccessFrom, On: Places{OnHostedCluster}, Default: "only the namespaces that HyperShift's own policies admit", Example: "openshift-monitoring,backup",
			Meaning: "Namespaces whose pods can use `management-access`, at most 64, in addition to the default.",
			value:   into(limitedListOf(namespaces()), func(s *Values) *[]string { return &s.Access.Namespaces })},
		{Name: network.KeyAccessBy, On: Places{OnHostedCluster}, Default: "callers need no token", Example: "openshift-monitoring/prometheus-k8s",
			Meaning: "The only ServiceAccounts that can use `management-access`, at most 64. A caller must send a token for the audience `oooi-access.<control plane namespace>`. Entries of `management-access` with `port=` are then refused.",
			value:   into(limitedListOf(accounts()), func(s *Values) *[]string { return &s.Access.Accounts })},
	}
}
