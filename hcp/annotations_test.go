package hcp_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
)

// served returns the objects of the story lb-ip. Tests can change them.
// Its release reads all fields.
func served(t testing.TB) hcp.Objects {
	t.Helper()
	dump := &files.Dump{}
	if err := dump.Add(golden.Find(t, "lb-ip").Read(t, "objects.yaml")); err != nil {
		t.Fatal(err)
	}
	o := dump.Clusters()[0]
	o.Partial = false
	ofRelease("4.23.1")(&o)
	return o
}

// TestInvalidValues checks that each invalid value is an error whose message says what
// to set.
func TestInvalidValues(t *testing.T) {
	for key, values := range map[string][]string{
		"network":         {"vlan100", "a/b/c", "/x"},
		"cidr":            {"192.168.100.0", "192.168.100.5/24", "fd00::/64", "999.1.1.1/8"},
		"gateway":         {"192.168.100", "fd00::1"},
		"client-networks": {"", "10.9.0.1", "10.9.0.1/16", "0.0.0.0/0", "10.0.0.0/7", "fd00::/64"},
		"edges":           {"", "0", "3", "-1", "02", "two", "1,2", "auto"},
		"edge-node-selector": {"", "vlan100", "=yes", "vlan100=yes,", "vlan100==yes", "vlan100!=yes", "vlan100 in (yes)", "a b=c", "vlan100=yes,vlan100=no", "a/b/c=d", "-x=y",
			"vlan100=" + strings.Repeat("y", 64)},
		"edge-addresses":  {"192.168.100.2-", "10.0.0.0-10.0.1.0"},
		"dhcp-range":      {"192.168.100.20-192.168.100.10", "a-b"},
		"reservations":    {"02:00:00:00:00:01", "zz=192.168.100.1", "02:00:00:00:00:01=x"},
		"lease-time":      {"1", "1s", "200h", "an hour"},
		"mtu":             {"0", "100000", "jumbo"},
		"search-domains":  {"a..b", "-x.example.com", "ä.example.com"},
		"dns-upstreams":   {"google", "8.8.8.8:0", "fd00::1"},
		"dns-records":     {"x.example.com", "=1.2.3.4", "x=y"},
		"services":        {"", "dhcp,tftp", "all"},
		"allowed-hosts":   {"", "quay.io", "none,quay.io", "auto,10.0.0.1", "auto,10.0.0.1:5000", "auto,[fd00::1]:5000", "auto,registry", "auto,registry:5000", "auto,registry.registries.svc", "auto,registry.registries.svc.cluster.local:5000", "auto,quay.io:0", "auto,quay.io:x", "auto,"},
		"unknown-clients": {"yes"},
		"access-log":      {"", "yes", "ALL"},
		"paused":          {"tomorrow"},

		"management-access":          {"", "nodes", "apps", "apps:8443", "nodes:0", "0=nodes:22", "fd00::1:22", "loadbalancers:443"},
		"management-access-from":     {"", "*", "a/b"},
		"management-access-accounts": {"", "reader", "a/b/c"},
	} {
		for _, v := range values {
			t.Run(key+"="+v, func(t *testing.T) {
				g := NewWithT(t)
				o := served(t)
				o.HostedCluster.Annotations[settings.Prefix+key] = v
				_, problems := translated(o)
				i := slices.IndexFunc(problems, func(p problem.Problem) bool { return p.Reason == problem.AnnotationInvalid })
				g.Expect(i).To(BeNumerically(">=", 0), "accepted")
				g.Expect(problems[i].Blocks()).To(BeTrue())
				g.Expect(message(problems[i])).To(And(ContainSubstring(key), MatchRegexp(`\. (Set|Remove) `)))
			})
		}
	}
}

// TestMisspelledKeys checks the suggested keys.
func TestMisspelledKeys(t *testing.T) {
	for key, want := range map[string]string{
		"gatway":      "gateway",
		"dhcp_range":  "dhcp-range",
		"ntp-server":  "ntp-servers",
		"colour":      "",
		"mtu.blue":    "", // the HostedCluster has only cidr and gateway for a NodePool
		"Network":     "network",
		"lease-times": "lease-time",
		"edge":        "edges",
		"edgess":      "edges",

		"edge_node_selector":  "edge-node-selector",
		"edge-nodes-selector": "edge-node-selector",
		"edge-adresses":       "edge-addresses",
	} {
		t.Run(key, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.HostedCluster.Annotations[settings.Prefix+key] = "1"
			_, problems := translated(o)
			i := slices.IndexFunc(problems, func(p problem.Problem) bool { return p.Reason == problem.AnnotationUnknown })
			g.Expect(i).To(BeNumerically(">=", 0))
			g.Expect(problems[i].Blocks()).To(BeFalse())
			if want != "" {
				g.Expect(message(problems[i])).To(ContainSubstring("Did you mean " + want + "?"))
			} else {
				g.Expect(message(problems[i])).NotTo(ContainSubstring("Did you mean"))
			}
		})
	}
}

// TestNodePoolPrecedence checks that annotations on a NodePool override those on the
// HostedCluster for that NodePool, which override cluster-wide ones.
func TestNodePoolPrecedence(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	np := o.NodePools[0].Name
	o.HostedCluster.Annotations[settings.Prefix+"cidr"] = "10.1.0.0/24"
	request, _ := translated(o)
	g.Expect(request.Networks[0].CIDR.String()).To(Equal("10.1.0.0/24"), "the annotation overrides machineNetwork")

	o.HostedCluster.Annotations[settings.Prefix+"cidr."+np] = "10.2.0.0/24"
	request, _ = translated(o)
	g.Expect(request.Networks[0].CIDR.String()).To(Equal("10.2.0.0/24"))

	o.NodePools[0].Annotations = map[string]string{settings.Prefix + "cidr": "10.3.0.0/24", settings.Prefix + "lease-time": "2h"}
	request, _ = translated(o)
	g.Expect(request.Networks[0].CIDR.String()).To(Equal("10.3.0.0/24"))
	g.Expect(request.Networks[0].Settings.LeaseTime).To(Equal(network.Duration(2 * time.Hour)))
}

// TestNodePoolsWithDifferentCIDRs checks that two CIDRs for one network are an error.
func TestNodePoolsWithDifferentCIDRs(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	second := *o.NodePools[0].DeepCopy()
	second.Name = "more"
	o.NodePools = append(o.NodePools, second)
	o.HostedCluster.Annotations[settings.Prefix+"cidr."+o.NodePools[0].Name] = "10.1.0.0/24"
	o.HostedCluster.Annotations[settings.Prefix+"cidr.more"] = "10.2.0.0/24"
	_, problems := translated(o)
	g.Expect(hasError(problems)).To(BeTrue())
	g.Expect(message(problems[0])).To(ContainSubstring("is 10.1.0.0/24 and 10.2.0.0/24"))
}

// TestPaused checks the values of spec.pausedUntil.
func TestPaused(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later, earlier := now.Add(time.Hour).Format(time.RFC3339), now.Add(-time.Hour).Format(time.RFC3339)
	for v, want := range map[string]bool{"true": true, "True": true, "false": false, "": false, later: true, earlier: false, "nonsense": false} {
		t.Run(v, func(t *testing.T) {
			g := NewWithT(t)
			hc := &hyperv1.HostedCluster{Spec: hyperv1.HostedClusterSpec{PausedUntil: &v}}
			g.Expect(hcp.Paused(hc, now)).To(Equal(want))
		})
	}
}

// FuzzAnnotations checks that any annotation results in problems with a message, or in a
// valid plan.
func FuzzAnnotations(f *testing.F) {
	for _, k := range settings.Keys() {
		f.Add(k.Name, k.Example)
	}
	read := served(f)
	f.Fuzz(func(t *testing.T, key, value string) {
		o := read
		o.HostedCluster = read.HostedCluster.DeepCopy()
		o.HostedCluster.Annotations[settings.Prefix+key] = value
		request, problems := translated(o)
		plan, more := derived(request)
		for _, p := range append(problems, more...) {
			if p.Reason == "" || strings.TrimSpace(message(p)) == "" {
				t.Errorf("a problem without a message: %+v", p)
			}
		}
		if !problems.Blocking() && !more.Blocking() {
			if err := plan.Validate(); err != nil {
				t.Errorf("%s=%q: %v", key, value, err)
			}
		}
	})
}

// TestPausedForBackup: a problem names objects that are paused because HyperShift's plugin for OADP, in an older release, has paused them.
// Other objects are not named.
func TestPausedForBackup(t *testing.T) {
	g := NewWithT(t)
	now, forever, past := time.Unix(1.7e9, 0), "true", "2001-01-01T00:00:00Z"
	mark := map[string]string{"oadp.openshift.io/paused-by": "hypershift-oadp-plugin"}
	pool := func(name string, annotations map[string]string, until *string) hyperv1.NodePool {
		return hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name, Annotations: annotations}, Spec: hyperv1.NodePoolSpec{PausedUntil: until}}
	}
	o := hcp.Objects{
		HostedCluster: &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "blue", Annotations: mark}, Spec: hyperv1.HostedClusterSpec{PausedUntil: &forever}},
		NodePools:     []hyperv1.NodePool{pool("leaked", mark, &forever), pool("ended", mark, &past), pool("resumed", mark, nil), pool("by a user", nil, &forever)},
	}
	var names []string
	for _, p := range hcp.PausedForBackup(o, now) {
		names = append(names, p.Subject.String())
	}
	g.Expect(names).To(Equal([]string{"HostedCluster clusters/blue", "NodePool clusters/leaked"}))
	o.HostedCluster.Spec.PausedUntil = nil
	g.Expect(hcp.PausedForBackup(o, now)).To(HaveLen(1))
}
