package hcp_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/openshift/hypershift/api/util/ipnet"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network/problem"
)

// ofRelease is a change: the HostedCluster has another release. With "digest", nothing shows which one.
func ofRelease(version string) change {
	return func(o *hcp.Objects) {
		image, _, _ := strings.Cut(o.HostedCluster.Spec.Release.Image, ":4.")
		if o.HostedCluster.Spec.Release.Image = image + ":" + version; version == "digest" {
			o.HostedCluster.Spec.Release.Image = image + "@sha256:0c1d"
		}
	}
}

// updated is a change: the HostedCluster was created with the first release, and has the second one now.
func updated(first, now string) change {
	return func(o *hcp.Objects) {
		o.HostedCluster.Status.Version = &hyperv1.ClusterVersionStatus{History: []configv1.UpdateHistory{{Version: now, State: configv1.CompletedUpdate}, {Version: first, State: configv1.CompletedUpdate}}}
	}
}

// joined is a change: OVN-Kubernetes has these join subnets, by v4InternalSubnet and by internalJoinSubnet.
func joined(v4Internal, internalJoin string) change {
	return func(o *hcp.Objects) {
		o.JoinSubnet = v4Internal
		o.HostedCluster.Spec.OperatorConfiguration = &hyperv1.OperatorConfiguration{ClusterNetworkOperator: &hyperv1.ClusterNetworkOperatorSpec{
			OVNKubernetesConfig: &hyperv1.OVNKubernetesConfig{IPv4: &hyperv1.OVNIPv4Config{InternalJoinSubnet: internalJoin}}}}
	}
}

func at(cidr string) change { return func(o *hcp.Objects) { settle(o, "cidr", cidr) } }

// A releaseCase is a cluster, and the causes and severities of its problems that depend on the release.
type releaseCase struct {
	given []change
	want  string
}

func (c releaseCase) run(t *testing.T) {
	o := served(t)
	for _, change := range c.given {
		change(&o)
	}
	var got []string
	_, ps := plan(o)
	for _, p := range causesOf(ps, problem.IngressTypeIgnored, problem.IngressPortsDiffer, problem.IngressCopyPending, problem.IngressServicePending, problem.PassthroughIneffective, problem.IngressPrivate,
		problem.CIDROverlapsOther, problem.PublishedInOther, problem.JoinSubnetsDiffer, problem.JoinSubnetTooSmall, problem.NetworkMTUsDiffer, problem.OVNMTUTooLarge, problem.OVNIPv6WithoutPods, problem.AllocationIgnored, problem.PodSubnetsTooFew) {
		got = append(got, string(p.Cause)+" "+string(p.Level()))
	}
	NewWithT(t).Expect(strings.Join(got, ", ")).To(Equal(c.want))
}

// TestIngressOfReleases: the control plane comes from the release. It ignores the type of the ingress before 4.21.
func TestIngressOfReleases(t *testing.T) {
	host, balanced, private := change(hostNetworkAt443), change(publishedBy(operatorv1.LoadBalancerServiceStrategyType)), change(publishedBy(operatorv1.PrivateStrategyType))
	gateway := func(o *hcp.Objects) { annotate(o, "gateway", "192.168.100.1") }
	documented := func(o *hcp.Objects) {
		o.Services = append(o.Services, corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "blue-apps"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Name: "https", Port: 443, TargetPort: intstr.FromInt32(31443)}}}})
	}
	passes := func(o *hcp.Objects) { passthrough(o, false) }
	for name, c := range map[string]releaseCase{
		"ports of nodes, ignored":                    {[]change{ofRelease("4.20.8"), host}, "IngressTypeIgnored Warning"},
		"ports of nodes, ignored, and a gateway":     {[]change{ofRelease("4.20.8"), host, gateway}, "IngressTypeIgnored Info"},
		"ports of nodes":                             {[]change{ofRelease("4.21.1"), host}, ""},
		"ports of nodes, in a new major release":     {[]change{ofRelease("5.0.0"), host}, ""},
		"ports of nodes, and the release is unknown": {[]change{ofRelease("digest"), host}, ""},
		"ports of nodes, ignored before an update":   {[]change{ofRelease("digest"), updated("4.20.8", "4.21.1"), host}, "IngressTypeIgnored Warning"},
		"ports of nodes, ignored, and a Service":     {[]change{ofRelease("4.20.8"), host, documented}, ""},
		"ports of nodes, and a Service":              {[]change{ofRelease("4.21.1"), host, documented}, "IngressPortsDiffer Warning"},
		"a load balancer, ignored":                   {[]change{ofRelease("4.20.8"), balanced}, "IngressTypeIgnored Warning"},
		"a load balancer":                            {[]change{ofRelease("4.21.1"), balanced}, "IngressCopyPending Waiting"},
		"a load balancer, ignored, and passthrough":  {[]change{ofRelease("4.20.8"), balanced, passes}, "IngressServicePending Waiting"},
		"a load balancer, and passthrough":           {[]change{ofRelease("4.21.1"), balanced, passes}, "PassthroughIneffective Info, IngressCopyPending Waiting"},
		"a private ingress, ignored":                 {[]change{ofRelease("4.18.20"), private}, "IngressTypeIgnored Warning"},
		"a private ingress":                          {[]change{ofRelease("4.21.1"), private}, "IngressPrivate Warning"},
		"node ports, as they are anyway":             {[]change{ofRelease("4.20.8"), publishedBy(operatorv1.NodePortServiceStrategyType)}, ""},
	} {
		t.Run(name, c.run)
	}
}

// TestNetworksOfReleases: the control plane comes from the release. It ignores fields that are newer, and has other defaults.
func TestNetworksOfReleases(t *testing.T) {
	mtus := func(ovn int) change {
		return func(o *hcp.Objects) {
			o.OVNMTU, o.VMs = ovn, nil
			secondPool(o, false)
			o.NetworkAttachmentDefinitions[1].Spec.Config = strings.Replace(o.NetworkAttachmentDefinitions[1].Spec.Config, `"ipam"`, `"mtu":9000,"ipam"`, 1)
		}
	}
	allocated := func(o *hcp.Objects) {
		o.VMs, o.AllocateNodeCIDRs, o.HostedCluster.Spec.Networking.NetworkType = nil, "Enabled", hyperv1.Other
	}
	pods := func(cidr string) change {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: *ipnet.MustParseCIDR(cidr)}}
		}
	}
	six := func(o *hcp.Objects) { o.OVNIPv6 = lenient.OVNIPv6{Join: "fd98::/64"} }
	published := func(address string) change {
		return func(o *hcp.Objects) { o.HostedCluster.Status.ControlPlaneEndpoint.Host = address }
	}
	for name, c := range map[string]releaseCase{
		"the former join subnet":                       {[]change{ofRelease("4.18.20"), at("100.65.10.0/24")}, "CIDROverlapsOther Error"},
		"the present join subnet, in a former release": {[]change{ofRelease("4.18.20"), at("100.66.10.0/24")}, ""},
		"the former join subnet, in a newer release":   {[]change{ofRelease("4.21.1"), at("100.65.10.0/24")}, ""},
		"the join subnet":                              {[]change{ofRelease("4.21.1"), at("100.66.10.0/24")}, "CIDROverlapsOther Error"},
		"the join subnet of early patches":             {[]change{ofRelease("4.20.8"), at("100.65.10.0/24")}, "CIDROverlapsOther Warning"},
		"the join subnet of late patches":              {[]change{ofRelease("4.20.8"), at("100.66.10.0/24")}, "CIDROverlapsOther Warning"},
		"the join subnet of some releases":             {[]change{ofRelease("digest"), at("100.65.10.0/24")}, "CIDROverlapsOther Warning"},
		"an update keeps the join subnet":              {[]change{updated("4.19.9", "4.21.1"), at("100.65.10.0/24")}, "CIDROverlapsOther Error"},
		"an API in the former join subnet":             {[]change{ofRelease("4.18.20"), published("100.65.0.20")}, "PublishedInOther Error"},
		"an API in the join subnet of some":            {[]change{ofRelease("4.20.8"), published("100.65.0.20")}, "PublishedInOther Warning"},
		"an ignored join subnet":                       {[]change{ofRelease("4.22.1"), at("100.66.10.0/24"), joined("100.68.0.0/16", "")}, "CIDROverlapsOther Error"},
		"an ignored one, too small":                    {[]change{ofRelease("4.22.1"), joined("100.68.0.0/24", "")}, ""},
		"a join subnet of its own":                     {[]change{ofRelease("4.23.1"), at("100.66.10.0/24"), joined("100.68.0.0/16", "")}, ""},
		"a join subnet since an update":                {[]change{updated("4.22.1", "4.23.1"), at("100.66.10.0/24"), joined("100.68.0.0/16", "")}, ""},
		"a join subnet, and the release is unknown":    {[]change{ofRelease("digest"), at("100.66.10.0/24"), joined("100.68.0.0/16", "")}, ""},
		"two equal fields, one ignored":                {[]change{ofRelease("4.20.8"), joined("100.68.0.0/16", "100.68.0.0/16")}, "JoinSubnetsDiffer Warning"},
		"two equal fields":                             {[]change{ofRelease("4.23.1"), joined("100.68.0.0/16", "100.68.0.0/16")}, ""},
		"two ignored fields":                           {[]change{ofRelease("4.19.9"), joined("100.68.0.0/16", "100.69.0.0/16")}, ""},
		"the other field":                              {[]change{ofRelease("4.22.1"), joined("", "100.68.0.0/16")}, "JoinSubnetsDiffer Warning"},
		"the other field, ignored":                     {[]change{ofRelease("4.18.20"), at("100.65.10.0/24"), joined("", "100.68.0.0/16")}, "CIDROverlapsOther Error"},
		"an ignored transit subnet":                    {[]change{ofRelease("4.19.9"), pods("10.132.0.0/14"), transit("100.99.0.0/24")}, ""},
		"a transit subnet":                             {[]change{ofRelease("4.20.8"), pods("10.132.0.0/14"), transit("100.99.0.0/24")}, "JoinSubnetTooSmall Warning"},
		"an ignored MTU":                               {[]change{ofRelease("4.20.8"), mtus(1400)}, "NetworkMTUsDiffer Warning"},
		"an MTU":                                       {[]change{ofRelease("4.22.1"), mtus(1400)}, ""},
		"an ignored MTU that is too large":             {[]change{ofRelease("4.21.1"), func(o *hcp.Objects) { o.OVNMTU = 8900 }}, ""},
		"an MTU, and the release is unknown":           {[]change{ofRelease("digest"), mtus(1400)}, ""},
		"an ignored MTU before an update":              {[]change{updated("4.21.1", "4.22.1"), mtus(1400)}, "NetworkMTUsDiffer Warning"},
		"an ignored IPv6 join subnet":                  {[]change{ofRelease("4.22.1"), six}, ""},
		"an IPv6 join subnet":                          {[]change{ofRelease("4.23.1"), six}, "OVNIPv6WithoutPods Warning"},
		"subnets of nodes, ignored":                    {[]change{ofRelease("4.21.1"), pods("10.132.0.0/23"), allocated}, "AllocationIgnored Warning"},
		"subnets of nodes":                             {[]change{ofRelease("4.22.1"), pods("10.132.0.0/23"), allocated}, "PodSubnetsTooFew Warning"},
		"subnets of nodes, and the release is unknown": {[]change{ofRelease("digest"), pods("10.132.0.0/23"), allocated}, "PodSubnetsTooFew Warning"},
	} {
		t.Run(name, c.run)
	}
}
