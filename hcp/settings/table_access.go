// This file has the rows of the table about management access.

package settings

import "github.com/cldmnky/oooi/network"

func accessKeys() []Key {
	return []Key{
		{Name: network.KeyAccess, On: Places{OnHostedCluster}, Default: "pods reach nothing", Example: "nodes:10250,apps:443,5432=192.168.100.60:5432",
			Meaning: "Destinations that pods of the management cluster can reach through edges: at most 64 entries `[port=]destination:port`. A destination is `nodes`, `apps`, an IPv4 address of a network, or a name in `dns-records`. The entry `loadbalancers` lets every client of a load balancer of the hosted cluster reach VMs through edges. [management-access.md](management-access.md) explains the entries.",
			value:   into(limitedListOf(accessEntries()), func(s *Values) *[]network.AccessEntry { return &s.Access.Entries })},
		{Name: network.KeyAccessFrom, On: Places{OnHostedCluster}, Default: "only the namespaces that HyperShift's own policies admit", Example: "openshift-monitoring,backup",
			Meaning: "At most 64 namespaces. Their pods can use `management-access`, in addition to pods that HyperShift's own policies admit.",
			value:   into(limitedListOf(namespaces()), func(s *Values) *[]string { return &s.Access.Namespaces })},
		{Name: network.KeyAccessBy, On: Places{OnHostedCluster}, Default: "callers need no token", Example: "openshift-monitoring/prometheus-k8s",
			Meaning: "At most 64 ServiceAccounts. Only these can use `management-access`. A caller must send a token for the audience `oooi-access.<control plane namespace>`. If the annotation is set, oooi ignores entries of `management-access` with `port=`, because plain TCP carries no token.",
			value:   into(limitedListOf(accounts()), func(s *Values) *[]string { return &s.Access.Accounts })},
	}
}
