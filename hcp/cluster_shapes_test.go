package hcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	operatorv1 "github.com/openshift/api/operator/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/network/problem"
)

// secondPool adds a NodePool that boots from vlan200, or from the pod network.
func secondPool(o *hcp.Objects, podNetwork bool) {
	np := *o.NodePools[0].DeepCopy()
	np.Name, np.CreationTimestamp = "green", metav1.Now()
	if podNetwork {
		np.Spec.Platform.Kubevirt.AdditionalNetworks, np.Spec.Platform.Kubevirt.AttachDefaultNetwork = nil, nil
	} else {
		np.Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: "clusters/vlan200"}}
		np.Annotations = map[string]string{"hostedcluster.densityops.com/cidr": "192.168.200.0/24"}
		nad := *o.NetworkAttachmentDefinitions[0].DeepCopy()
		nad.Namespace, nad.Name = "clusters", "vlan200"
		nad.Spec.Config = `{"cniVersion":"0.3.1","name":"vlan200","type":"bridge","bridge":"br1","vlan":200,"ipam":{}}`
		o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, nad)
	}
	o.NodePools = append(slices.Clone(o.NodePools), np)
}

// TestNodesOnSeparateNetworks: nodes that boot from different networks reach each other only through gateways.
func TestNodesOnSeparateNetworks(t *testing.T) {
	none := int32(0)
	for name, c := range map[string]struct {
		given    func(*hcp.Objects)
		severity problem.Severity
	}{
		"one network":                         {func(*hcp.Objects) {}, ""},
		"two isolated networks":               {func(o *hcp.Objects) { secondPool(o, false) }, problem.SeverityWarning},
		"a gateway on one of them":            {func(o *hcp.Objects) { secondPool(o, false); annotate(o, "gateway", "192.168.100.1") }, problem.SeverityWarning},
		"the pod network and an isolated one": {func(o *hcp.Objects) { secondPool(o, true) }, problem.SeverityWarning},
		"a gateway on both": {func(o *hcp.Objects) {
			secondPool(o, false)
			annotate(o, "gateway", "192.168.100.1")
			o.NodePools[1].Annotations["hostedcluster.densityops.com/gateway"] = "192.168.200.1"
		}, problem.SeverityInfo},
		"the pod network and one with a gateway": {func(o *hcp.Objects) { secondPool(o, true); annotate(o, "gateway", "192.168.100.1") }, problem.SeverityWarning},
		"no VM in the second NodePool":           {func(o *hcp.Objects) { secondPool(o, false); o.NodePools[1].Spec.Replicas = &none }, ""},
		"one network for two NodePools": {func(o *hcp.Objects) {
			secondPool(o, false)
			o.NodePools[1].Spec.Platform.Kubevirt.AdditionalNetworks[0].Name = "clusters/vlan100"
			delete(o.NodePools[1].Annotations, "hostedcluster.densityops.com/cidr")
		}, ""},
		"one VLAN in two NetworkAttachmentDefinitions": {func(o *hcp.Objects) {
			secondPool(o, false)
			o.NetworkAttachmentDefinitions[1].Spec.Config = o.NetworkAttachmentDefinitions[0].Spec.Config
		}, ""},
		"a second network that VMs do not boot from": {func(o *hcp.Objects) {
			secondPool(o, false)
			o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks = append(o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks, o.NodePools[1].Spec.Platform.Kubevirt.AdditionalNetworks...)
			o.NodePools = o.NodePools[:1]
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			c.given(&o)
			_, ps := plan(o)
			g.Expect(ps.Blocking()).To(BeFalse(), "%v", ps)
			of := causesOf(ps, problem.NodesOnSeparateNetworks, problem.NodesBehindGateways)
			if c.severity == "" {
				g.Expect(of).To(BeEmpty())
				return
			}
			g.Expect(of).To(HaveExactElements(And(HaveField("Severity", c.severity), HaveField("Args", HaveKeyWithValue("nodePools", problem.Values{"blue", "green"})))))
		})
	}
}

// causesOf returns those of ps that have one of causes.
func causesOf(ps problem.Problems, causes ...problem.Cause) problem.Problems {
	return slices.DeleteFunc(slices.Clone(ps), func(p problem.Problem) bool { return !slices.Contains(causes, p.Cause) })
}

// TestIngressWithoutAnOpenPort: a problem says that a router has no port for edges as HyperShift creates it. It is not waited for. A Service that
// publishes it is served: an administrator may have changed the router since.
func TestIngressWithoutAnOpenPort(t *testing.T) {
	of := func(s operatorv1.EndpointPublishingStrategy) func(*hcp.Objects) {
		return func(o *hcp.Objects) { o.HostedIngress = &s }
	}
	private := of(operatorv1.EndpointPublishingStrategy{Type: operatorv1.PrivateStrategyType})
	annotated := func(o *hcp.Objects) {
		o.HostedCluster.Annotations["hypershift.openshift.io/private-ingress-controller"] = "true"
	}
	hostNetworkProxy := of(operatorv1.EndpointPublishingStrategy{Type: operatorv1.HostNetworkStrategyType, HostNetwork: &operatorv1.HostNetworkStrategy{Protocol: operatorv1.ProxyProtocol}})
	nodePortProxy := of(operatorv1.EndpointPublishingStrategy{Type: operatorv1.NodePortServiceStrategyType, NodePort: &operatorv1.NodePortStrategy{Protocol: operatorv1.ProxyProtocol}})
	loadBalancer := of(operatorv1.EndpointPublishingStrategy{Type: operatorv1.LoadBalancerServiceStrategyType})
	passes := func(o *hcp.Objects) { passthrough(o, false) }
	passed := func(o *hcp.Objects) { passthrough(o, true) }
	address := func(o *hcp.Objects) { annotate(o, "apps-address", "192.168.100.6") }
	copied := func(o *hcp.Objects) { withRouter(o, "10.240.0.201") }
	onNodes := func(https int32) func(*hcp.Objects) { return func(o *hcp.Objects) { hostNetwork(o, https) } }
	api := func(port int32) func(*hcp.Objects) {
		return func(o *hcp.Objects) {
			o.HostedCluster.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{Port: &port}
			o.HostedCluster = asCached(t, *o).HostedCluster
		}
	}
	for name, c := range map[string]struct {
		given  []func(*hcp.Objects)
		causes []problem.Cause
		served bool
	}{
		"node ports, the default":                          {[]func(*hcp.Objects){withDocumented}, nil, true},
		"type Private":                                     {[]func(*hcp.Objects){private}, []problem.Cause{problem.IngressPrivate}, false},
		"type Private and the documented Service":          {[]func(*hcp.Objects){private, withDocumented}, []problem.Cause{problem.IngressPrivate}, true},
		"annotation of HyperShift and that Service":        {[]func(*hcp.Objects){annotated, withDocumented}, []problem.Cause{problem.IngressPrivate}, true},
		"the annotation, which a type in the field undoes": {[]func(*hcp.Objects){annotated, hostNetworkAt443}, nil, true},
		"type Private with passthrough":                    {[]func(*hcp.Objects){private, passes}, []problem.Cause{problem.IngressPrivate}, false},
		"type Private, and a load balancer of the user's":  {[]func(*hcp.Objects){private, address}, nil, false},
		"the node's own port with PROXY protocol":          {[]func(*hcp.Objects){hostNetworkProxy}, []problem.Cause{problem.IngressWantsPROXY}, true},
		"node ports with PROXY protocol":                   {[]func(*hcp.Objects){nodePortProxy, withDocumented}, []problem.Cause{problem.IngressWantsPROXY}, true},
		"PROXY protocol with passthrough":                  {[]func(*hcp.Objects){nodePortProxy, passed}, []problem.Cause{problem.IngressWantsPROXY}, true},
		"the node's own port, and a Service at another":    {[]func(*hcp.Objects){hostNetworkAt443, withDocumented}, []problem.Cause{problem.IngressPortsDiffer}, true},
		"the node's own port, and a Service at that port":  {[]func(*hcp.Objects){onNodes(32443), withDocumented}, nil, true},
		"both, and a copy, which edges use":                {[]func(*hcp.Objects){hostNetworkAt443, withDocumented, copied}, nil, true},
		"both, and passthrough, which edges use":           {[]func(*hcp.Objects){hostNetworkAt443, withDocumented, passed}, nil, true},
		"the node's own port, which is the API's, too":     {[]func(*hcp.Objects){hostNetworkAt443, api(443)}, []problem.Cause{problem.IngressPortInUse}, true},
		"the node's own port 80, which is the API's, too":  {[]func(*hcp.Objects){hostNetworkAt443, api(80)}, []problem.Cause{problem.IngressPortInUse}, true},
		"the node's own port, the API's default":           {[]func(*hcp.Objects){onNodes(6443)}, []problem.Cause{problem.IngressPortInUse}, true},
		"the node's own port, the API's former default":    {[]func(*hcp.Objects){onNodes(6443), api(7443)}, nil, true},
		"node ports, and the API has port 443 of nodes":    {[]func(*hcp.Objects){withDocumented, api(443)}, nil, true},
		"type LoadBalancerService with passthrough":        {[]func(*hcp.Objects){loadBalancer, passes}, []problem.Cause{problem.IngressCopyPending}, false},
		"passthrough with node ports":                      {[]func(*hcp.Objects){passes}, []problem.Cause{problem.IngressServicePending}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			for _, change := range c.given {
				change(&o)
			}
			p, ps := plan(o)
			var causes []problem.Cause
			for _, p := range ps {
				if p.Reason == problem.AppsUnreachable || p.Subject.Name == "apps" {
					causes = append(causes, p.Cause)
				}
			}
			g.Expect(causes).To(Equal(c.causes))
			of := causesOf(ps, problem.IngressPrivate, problem.IngressWantsPROXY)
			g.Expect(of).NotTo(ContainElement(HaveField("Severity", Not(Equal(problem.SeverityWarning)))))
			annotate(&o, "gateway", "192.168.100.1")
			_, behind := plan(o)
			g.Expect(causesOf(behind, problem.IngressPrivate, problem.IngressWantsPROXY)).To(And(HaveLen(len(of)), Not(ContainElement(HaveField("Severity", Not(Equal(problem.SeverityInfo)))))), "other DNS servers may resolve it")
			g.Expect(resolves(p, "*.apps.blue.example.com") == p.Networks[0].ServiceVIP).To(Equal(c.served))
		})
	}
}

// TestCopyOfAPrivateIngress: the administrator of the hosted cluster can give an ingress of type Private a load balancer. Its copy is served, and kept for a
// moment without it.
func TestCopyOfAPrivateIngress(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.HostedIngress = &operatorv1.EndpointPublishingStrategy{Type: operatorv1.PrivateStrategyType}
	withRouter(&o, "192.168.100.80")
	last, ps := plan(o)
	g.Expect(ps.Has(problem.AppsUnreachable)).To(BeFalse())
	o.Services = o.Services[:len(o.Services)-1]
	r, f := hcp.Translate(o, last)
	now, _ := after(given{r, f}, last)
	g.Expect(now).To(Equal(last))
}

func hostNetworkAt443(o *hcp.Objects) { hostNetwork(o, 443) }

// TestOVNMTUOfKinds: a bridge without an MTU has that of Ethernet, and annotation mtu cannot raise it. Other interfaces have that of their
// device, which no object names.
func TestOVNMTUOfKinds(t *testing.T) {
	for config, want := range map[string]problem.Cause{
		`"type":"bridge","bridge":"br1"`:              problem.OVNMTUTooLarge,
		`"type":"cnv-bridge","bridge":"br1"`:          problem.OVNMTUTooLarge,
		`"type":"macvlan","master":"eth1"`:            problem.OVNMTUUnknown,
		`"type":"macvlan","master":"eth1","mtu":1500`: problem.OVNMTUTooLarge,
		`"type":"macvlan","master":"eth1","mtu":9000`: "",
		`"type":"sriov"`:                              problem.OVNMTUUnknown,
		`"type":"ovn-k8s-cni-overlay","topology":"layer2","netAttachDefName":"clusters/vlan100"`: problem.OVNMTUUnknown,
	} {
		t.Run(config, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.OVNMTU = 8900
			o.Nodes = []corev1.Node{{Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{"example.com/vf": resource.MustParse("8")}}}}
			nad := &o.NetworkAttachmentDefinitions[0]
			nad.Spec.Config = `{"cniVersion":"0.3.1","name":"vlan100",` + config + `}`
			nad.Annotations = map[string]string{wire.AnnotationResourceName: "example.com/vf"}
			about := func() problem.Problems {
				_, ps := plan(o)
				g.Expect(ps.Blocking()).To(BeFalse(), "%v", ps)
				return causesOf(ps, problem.OVNMTUTooLarge, problem.OVNMTUUnknown)
			}
			if want == "" {
				g.Expect(about()).To(BeEmpty())
				return
			}
			g.Expect(about()).To(HaveExactElements(HaveField("Cause", want)))
			annotate(&o, "mtu", "9000")
			if want == problem.OVNMTUTooLarge {
				g.Expect(about()).To(HaveExactElements(HaveField("Cause", want)))
				return
			}
			g.Expect(about()).To(BeEmpty())
		})
	}
}

// TestOVNMTU: OVN-Kubernetes needs 100 bytes of the VLAN's MTU for itself.
func TestOVNMTU(t *testing.T) {
	for name, c := range map[string]struct {
		ovn, ofNAD int
		annotation string
		want       bool
	}{
		"not set":                                     {},
		"the usual one":                               {ovn: 1400},
		"more than the VLAN leaves":                   {ovn: 1401, want: true},
		"jumbo frames on a VLAN that has none":        {ovn: 8900, want: true},
		"jumbo frames by annotation, not by bridge":   {ovn: 8900, annotation: "9000", want: true},
		"jumbo frames by NetworkAttachmentDefinition": {ovn: 8900, ofNAD: 9000},
		"a smaller VLAN":                              {ovn: 1400, annotation: "1400", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.OVNMTU = c.ovn
			if c.annotation != "" {
				annotate(&o, "mtu", c.annotation)
			}
			if c.ofNAD != 0 {
				o.NetworkAttachmentDefinitions[0].Spec.Config = `{"cniVersion":"0.3.1","name":"vlan100","type":"bridge","bridge":"br1","vlan":100,"mtu":9000,"ipam":{}}`
			}
			_, ps := plan(o)
			g.Expect(ps.Blocking()).To(BeFalse(), "%v", ps)
			g.Expect(causesOf(ps, problem.OVNMTUTooLarge)).To(HaveLen(map[bool]int{true: 1}[c.want]))
			o.HostedCluster.Spec.Networking.NetworkType = hyperv1.Other
			_, ps = plan(o)
			g.Expect(causesOf(ps, problem.OVNMTUTooLarge)).To(BeEmpty(), "another network plugin")
		})
	}
}

// TestMTUsOfTwoNetworks: without ovnKubernetesConfig.mtu, one node decides about the MTU of the pod network. It needs 58 bytes less than each network has.
func TestMTUsOfTwoNetworks(t *testing.T) {
	for name, c := range map[string]struct {
		first, second, ovn int
		want               bool
	}{
		"jumbo frames on one":                   {9000, 1500, 0, true},
		"and the pod network has a smaller MTU": {9000, 1500, 1400, false},
		"a little less":                         {1500, 1458, 0, false},
		"too much less":                         {1500, 1457, 0, true},
		"one value":                             {9000, 9000, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			o.OVNMTU, o.VMs = c.ovn, nil
			secondPool(&o, false)
			for i := range o.NetworkAttachmentDefinitions {
				spec := &o.NetworkAttachmentDefinitions[i].Spec
				spec.Config = strings.Replace(spec.Config, `"ipam"`, `"mtu":9000,"ipam"`, 1)
			}
			annotate(&o, "mtu", fmt.Sprint(c.first))
			o.NodePools[1].Annotations["hostedcluster.densityops.com/mtu"] = fmt.Sprint(c.second)
			_, ps := translated(o)
			g.Expect(causesOf(ps, problem.NetworkMTUsDiffer)).To(HaveLen(map[bool]int{true: 1}[c.want]), "%v", ps)
		})
	}
}

// TestFieldsThatChangeTheShape checks that the fields are read from the object's text: the imported types lack some of them.
func TestFieldsThatChangeTheShape(t *testing.T) {
	g := NewWithT(t)
	d := &files.Dump{}
	g.Expect(d.Add([]byte(`
apiVersion: hypershift.openshift.io/v1beta1
kind: HostedCluster
metadata: {name: a, namespace: a}
spec:
  autoscaling: {maxNodesTotal: 5}
  networking: {networkType: Other, allocateNodeCIDRs: Enabled}
  operatorConfiguration:
    clusterNetworkOperator: {ovnKubernetesConfig: {mtu: 8900}}
    ingressOperator: {endpointPublishingStrategy: {type: NodePortService, nodePort: {protocol: PROXY}, hostNetwork: {protocol: PROXY}}}
---
apiVersion: hypershift.openshift.io/v1beta1
kind: NodePool
metadata: {name: a, namespace: a}
spec: {clusterName: a, autoScaling: {min: 2, max: 9}}
`))).To(Succeed())
	o := d.Clusters()[0]
	g.Expect(o.OVNMTU).To(Equal(8900))
	g.Expect(o.AllocateNodeCIDRs).To(Equal("Enabled"))
	g.Expect(o.HostedIngress).To(And(HaveField("NodePort.Protocol", operatorv1.ProxyProtocol), HaveField("HostNetwork.Protocol", operatorv1.ProxyProtocol)))
	g.Expect(o.HostedCluster.Spec.Autoscaling.MaxNodesTotal).To(HaveValue(BeEquivalentTo(5)))
	g.Expect(o.NodePools[0].Spec.AutoScaling).To(HaveValue(Equal(hyperv1.NodePoolAutoScaling{Min: 2, Max: 9})))
}

// TestNetworkPlugins: no object names the registry of a network plugin that users install, until they name its hosts.
func TestNetworkPlugins(t *testing.T) {
	for name, c := range map[string]struct {
		plugin  hyperv1.NetworkType
		key, to string
		want    bool
	}{
		"OVN-Kubernetes":                        {plugin: hyperv1.OVNKubernetes},
		"none named":                            {},
		"Calico":                                {plugin: hyperv1.Calico, want: true},
		"another one":                           {plugin: hyperv1.Other, want: true},
		"another one whose registry is allowed": {plugin: hyperv1.Other, key: "allowed-hosts", to: "auto,docker.io"},
		"another one on a network with a gateway": {plugin: hyperv1.Other, key: "gateway", to: "192.168.100.1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.HostedCluster.Spec.Networking.NetworkType = c.plugin
			if c.key != "" {
				annotate(&o, c.key, c.to)
			}
			_, ps := plan(o)
			g.Expect(causesOf(ps, problem.NetworkPluginMayNameOthers)).To(HaveLen(map[bool]int{true: 1}[c.want]))
		})
	}
}

// TestMaxNodesTotal: the autoscaler adds no VM beyond maxNodesTotal, but each NodePool keeps its smallest size.
func TestMaxNodesTotal(t *testing.T) {
	for name, c := range map[string]struct {
		scaling hyperv1.NodePoolAutoScaling
		total   *int32
		vms     int
	}{
		"0 is no limit":              {hyperv1.NodePoolAutoScaling{Min: 1, Max: 300}, new(int32), 301},
		"no limit":                   {hyperv1.NodePoolAutoScaling{Min: 1, Max: 300}, nil, 301},
		"fewer than the NodePool's":  {hyperv1.NodePoolAutoScaling{Min: 1, Max: 300}, new(int32(5)), 6},
		"more than the NodePool's":   {hyperv1.NodePoolAutoScaling{Min: 1, Max: 3}, new(int32(5)), 4},
		"less than the smallest one": {hyperv1.NodePoolAutoScaling{Min: 10, Max: 300}, new(int32(5)), 11},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.NodePools[0].Spec.Replicas, o.NodePools[0].Spec.AutoScaling = nil, &c.scaling
			o.HostedCluster.Spec.Autoscaling.MaxNodesTotal = c.total
			in, _ := translated(o)
			g.Expect(in.Networks[0].VMs).To(Equal(c.vms))
			_, ps := plan(o)
			g.Expect(ps.Has(problem.RangeTooSmall)).To(Equal(c.vms > 244))
		})
	}
}

// TestPatchedNetworks: while no VM shows its networks, a patch of the VMs' networks is a hint.
func TestPatchedNetworks(t *testing.T) {
	const networks, cores = `[{"op":"replace","path":"/spec/template/spec/networks/0/multus/networkName","value":"x/y"}]`, `[{"op":"replace","path":"/spec/template/spec/domain/cpu/cores","value":3}]`
	for name, c := range map[string]struct {
		ofCluster, ofNodePool string
		given                 change
		want                  []string
	}{
		"no patch":           {"", "", fresh, nil},
		"of all networks":    {networks, "", fresh, []string{"blue", "green"}},
		"of one NodePool":    {"", networks, fresh, []string{"blue"}},
		"of other fields":    {cores, cores, fresh, nil},
		"no JSON":            {"networks", "/spec/template/spec/networks", fresh, nil},
		"VMs show the patch": {networks, "", func(*hcp.Objects) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			secondPool(&o, true)
			c.given(&o)
			o.HostedCluster.Annotations[hyperv1.JSONPatchAnnotation] = c.ofCluster
			o.NodePools[0].Annotations = map[string]string{hyperv1.JSONPatchAnnotation: c.ofNodePool}
			_, ps := translated(asCached(t, o))
			found := causesOf(ps, problem.VMNetworksPatched)
			if c.want == nil {
				g.Expect(found).To(BeEmpty())
				return
			}
			g.Expect(found).To(HaveExactElements(And(HaveField("Severity", problem.SeverityInfo), HaveField("Args", HaveKeyWithValue("nodePools", problem.Values(c.want))))))
			g.Expect(message(found[0])).To(HavePrefix("Annotation hypershift.openshift.io/kubevirt-vm-jsonpatch changes the networks of VMs of NodePool"))
		})
	}
}
