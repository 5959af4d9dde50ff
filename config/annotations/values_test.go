package annotations_test

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/cldmnky/oooi/hcp/settings"
)

// The values of one key that are tested by name.
type values struct {
	// good and bad are what both the operator and the API server accept and refuse.
	good, bad []string
	// operatorOnly are refused by the operator only: the API server cannot check them.
	operatorOnly []string
}

// casesOf returns the values of a key, or of another key with the same format. ok is false if there are none.
func casesOf(k settings.Key) (v values, ok bool) {
	all := cases()
	if v, ok = all[k.Name]; ok {
		return v, true
	}
	for _, other := range settings.Keys() {
		if v, ok = all[other.Name]; ok && reflect.DeepEqual(other.Requirements(), k.Requirements()) {
			return v, true
		}
	}
	return values{}, false
}

// cases returns values for at least one key of each format.
func cases() map[string]values {
	long := strings.Repeat("a", 64)
	many := func(n int, entry string) string { return strings.TrimSuffix(strings.Repeat(entry+",", n), ",") }
	badAddresses := []string{"", "192.168.100", "192.168.100.256", "192.168.100.01", "fd00::1", "::ffff:192.168.100.1", "192.168.100.1/24", "gateway", "192.168.100.1 192.168.100.2"}
	addressLists := values{
		good: []string{"192.168.100.1", " 192.168.100.1 , 192.168.100.2 ", "0.0.0.0,255.255.255.255", many(64, "10.0.0.1")},
		bad:  append([]string{"192.168.100.1,", ",", "192.168.100.1;192.168.100.2", "192.168.100.1-192.168.100.2", many(65, "10.0.0.1")}, badAddresses...),
	}
	out := map[string]values{
		"network": {good: []string{"auto", "none", " auto ", "vlans/vlan100"}, bad: []string{"", "vlan100", "vlans/", "/vlan100", "a/b/c", "Auto", "true"}},
		"cidr": {good: []string{"192.168.100.0/24", "10.0.0.0/8", " 10.1.2.3/32 "},
			bad: []string{"", "192.168.100.0/244", "192.168.100.1/24", "192.168.100.0", "fd00::/64", "::ffff:10.0.0.0/104", "192.168.100.0/024", "10.0.0.0/8,10.1.0.0/16"}},
		"gateway": {good: []string{"192.168.100.1"}, bad: badAddresses},
		"client-networks": {
			good: []string{"10.9.0.0/16", " 10.0.0.0/8 , 198.51.100.7/32", many(64, "10.9.0.0/16")},
			bad:  []string{"", "0.0.0.0/0", "10.0.0.0/7", "128.0.0.0/1", "10.9.0.1/16", "10.9.0.0", "fd00::/64", "10.9.0.0/16,", "none", "10.9.0.0/16;10.8.0.0/16", many(65, "10.9.0.0/16")},
		},
		"services": {good: []string{"dhcp", "dns,proxy", "dns, dns", "none", " none "}, bad: []string{"", "all", "dhcp,", "DNS", "none,dhcp", "None"}},
		"edges":    {good: []string{"1", " 2 "}, bad: []string{"", "0", "3", "two", "1.0"}},
		"edge-node-selector": {
			good: []string{"vlan100=yes", "node-role.kubernetes.io/infra=,vlan100=yes", "a=b , c=d", strings.Repeat("a", 63) + "=" + strings.Repeat("b", 63), strings.Repeat("a.", 126) + "a/b=c", labels(64)},
			bad: []string{"", "vlan100", "vlan100=yes,", "vlan100 = yes", "a=b=c", "/a=b", "A.example.com/a=b", "a/b/c=d", "_a=b", "a=-b", long + "=b", "a=" + long,
				strings.Repeat("a.", 127) + "a/b=c", "vlan100=yes,vlan100=no", "a=1,b=2,a=3", many(65, "vlan100=yes"), labels(65)},
		},
		"edge-addresses": {
			good: []string{"192.168.100.2-192.168.100.5", "192.168.100.2 - 192.168.100.17", "192.168.100.2,192.168.100.9, 192.168.100.4,192.168.100.5", "192.168.100.2", many(64, "10.0.0.1")},
			bad: append([]string{"192.168.100.5-192.168.100.2", "192.168.100.2-192.168.100.18", "192.168.100.2-192.168.100.3,192.168.100.4", "192.168.100.2-5", "-", "0.0.0.0-255.255.255.255", many(65, "10.0.0.1")},
				badAddresses...),
		},
		"dhcp-range": {
			good: []string{"192.168.100.10-192.168.100.253", "192.168.100.10", "192.168.100.10 - 192.168.100.10"},
			bad:  append([]string{"192.168.100.253-192.168.100.10", "192.168.100.10-", "192.168.100.10-192.168.100.20-192.168.100.30", "192.168.100.10,192.168.100.11"}, badAddresses...),
		},
		"dhcp-exclude": {
			good: []string{"192.168.100.50-192.168.100.59", "192.168.100.50, 192.168.100.60-192.168.100.61", many(64, "10.0.0.1")},
			bad:  append([]string{"192.168.100.50,192.168.100.61-192.168.100.60", "192.168.100.50,", many(65, "10.0.0.1")}, badAddresses...),
		},
		"reservations": {
			good: []string{"02:00:00:00:00:01=192.168.100.20", "02-00-00-00-00-0A = 192.168.100.20, 0200.0000.0001=192.168.100.21"},
			bad: []string{"", "02:00:00:00:00:01", "192.168.100.20=02:00:00:00:00:01", "02:00:00:00:01=192.168.100.20", "02:00:00:00:00:00:00:01=192.168.100.20",
				"02:00:00:00:00:0g=192.168.100.20", "02:00-00:00-00:01=192.168.100.20", "02:00:00:00:00:01=192.168.100.256", "02:00:00:00:00:01=a=b"},
		},
		"lease-time": {
			good:         []string{"1h", "1m", "60s", "168h", "90m", "1h30m", "+1.5h", ".5h", "3600000000us", "3600000000\u00b5s", "3600000000\u03bcs"},
			bad:          []string{"", "1", "0", "59s", "168h1s", "-1h", "1d", "1 h", "forever", "1h,"},
			operatorOnly: []string{"9999999999h"},
		},
		"mtu":         {good: []string{"576", "1500", "65535", "+9000", "0001500"}, bad: []string{"", "575", "65536", "-1500", "1500 bytes", "1_500", "0x600", "1e3", strings.Repeat("9", 30)}},
		"ntp-servers": addressLists, "infrastructure": {good: []string{"here", " external "}, bad: []string{"", "Here", "there", "here,external"}},
		"search-domains": {good: []string{"blue.example.com", "Blue.Example.COM., local", strings.Repeat("a.", 126) + "a"}, bad: []string{"", "*.example.com", "a..b", "-a.b", "a-.b", "a_b.c", long + ".b", strings.Repeat("a.", 127) + "a", "\u212aube.example.com", "example.com,"}},
		"dns-upstreams": {
			good: []string{"none", "management", "192.168.100.1", "192.168.100.1:53, 10.0.0.1:00853", many(64, "10.0.0.1")},
			bad:  append([]string{"None", "none,192.168.100.1", "192.168.100.1:0", "192.168.100.1:65536", "192.168.100.1:", "dns.example.com", "[192.168.100.1]:53", "192.168.100.1:+53", many(65, "10.0.0.1")}, badAddresses...),
		},
		"dns-records": {
			good: []string{"registry.example.com=192.168.100.1", "*.apps.example.com = 10.0.0.1, a=10.0.0.2", many(64, "a.example.com=10.0.0.1")},
			bad:  []string{"", "registry.example.com", "registry.example.com=", "=10.0.0.1", "a.*.com=10.0.0.1", "*.*.a=10.0.0.1", "a=fd00::1", "*=10.0.0.1", many(65, "a.example.com=10.0.0.1")},
		},
		"apps-address": {good: []string{"192.168.100.6"}, bad: badAddresses},
		"allowed-hosts": {
			good: []string{"none", "auto", "auto,registry.example.com", " auto , quay.io:5000, Quay.IO.:443", "auto,my-svc.example", "auto," + many(64, "a.example.com")},
			bad: []string{"", "None", "registry.example.com", "none,auto", "auto,", "auto,none", "auto,quay.io:https", "auto,quay.io:0", "auto,quay.io:65536", "auto,quay.io:", "auto,localhost", "auto,com.",
				"auto,10.0.0.1", "auto,10.0.0.1:443", "auto,[fd00::1]:443", "auto,fd00::1", "auto,[10.0.0.1]", "auto,a.b.svc", "auto,a.Svc:443", "auto,a.cluster.local", "auto,kubernetes.default", "auto,openshift.default:443",
				"auto,https://quay.io", "auto,quay.io/org", "auto," + many(65, "a.example.com")},
		},
		"unknown-clients": {good: []string{"serve", " ignore "}, bad: []string{"", "Serve", "true", "serve,ignore"}},
		"paused": {
			good:         []string{"true", "false", "2026-01-02T15:04:05Z", "2026-01-02T15:04:05.123+02:00", "2026-01-02T5:04:05,5Z"},
			bad:          []string{"", "yes", "True", "2026-01-02", "2026-01-02 15:04:05Z", "2026-01-02T15:04:05", "1h"},
			operatorOnly: []string{"2026-02-30T15:04:05Z", "2026-01-02T25:04:05Z"},
		},
		"allowed-namespaces": {good: []string{"clusters-blue", "clusters-blue, a"}, bad: []string{"", "*", "Clusters", "a.b", "-a", long, "a,"}},
		"publish": {
			good: []string{"git.example.com:443", "git.example.com:443, Git.example.com.:22"},
			bad:  []string{"", "git.example.com", "git:443", "10.0.0.1:443", "git.example.com:https", "git.example.com:70000", "git.example.com:443;x.example.com:80", "a.b.svc:443", many(65, "a.example.com:443")},
		},
	}
	maps.Copy(out, accessCases(long, many))
	return out
}

// labels returns a list of n labels.
func labels(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("l%d=", i))
	}
	return strings.Join(all, ",")
}

// keys returns the table of keys by name.
func keys() map[string]settings.Key {
	out := map[string]settings.Key{}
	for _, k := range settings.Keys() {
		out[k.Name] = k
	}
	return out
}

// accessCases are cases of the annotations about the pod network, and of the access log.
func accessCases(long string, many func(n int, entry string) string) map[string]values {
	return map[string]values{
		"management-dns": {good: []string{"serve", " refuse "}, bad: []string{"", "none", "true", "Serve", "serve,refuse"}},
		"access-log":     {good: []string{"none", "failures", " all "}, bad: []string{"", "true", "All", "none,all", "errors"}},
		"management-access": {
			good: []string{"nodes:10250", " nodes:10250 , apps:443,apps:80,5432=192.168.100.60:5432, 22=Db.Example.com.:22", "registry:5000", "00443=apps:0080", "loadbalancers", " LoadBalancers. , apps:443", "loadbalancers2:443", many(64, "nodes:9100")},
			bad: []string{"", "nodes", "nodes:", "apps", "nodes:0", "nodes:65536", "nodes:https", "0=nodes:22", "65536=nodes:22", "=nodes:22", "a=nodes:22", "1=2=nodes:22", "nodes:22:22", ":22", "22", "apps:8443", "Apps.:8443",
				"fd00::1:22", "[fd00::1]:22", "*.apps.example.com:443", "192.168.100.0/24:22", "a@nodes:22", "nodes:22/x", "nodes :22", "nodes:22,", "nodes:22;apps:443", "loadbalancers:443", "443=loadbalancers", "443=LoadBalancers.:443", "loadbalancers:", "loadbalancers,", many(65, "nodes:9100")},
		},
		"management-access-from": {good: []string{"backup", "openshift-monitoring, backup", many(64, "backup")}, bad: []string{"", "*", "Backup", "a.b", "-a", "a/b", long, "a,", many(65, "backup")}},
		"management-access-accounts": {
			good: []string{"backup/reader", "openshift-monitoring/prometheus-k8s, a/b.c", many(64, "a/b")},
			bad:  []string{"", "reader", "/reader", "backup/", "a/b/c", "system:serviceaccount:a:b", "A/b", "a/B", "a/*", "a/b..c", "a/" + strings.Repeat("b", 254), long + "/b", "a/b,", many(65, "a/b")},
		},
	}
}
