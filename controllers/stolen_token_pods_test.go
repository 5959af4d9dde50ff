package controllers

import (
	"net/netip"
	"strings"
	"testing"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	cni "github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/network"
)

// testThiefsPods changes one thing of an edge's pod.
func testThiefsPods(t *testing.T, s thief, h hosted) {
	g := NewWithT(t)
	yes, no, root := true, false, int64(0)
	volume := func(v corev1.VolumeSource) func(*corev1.PodSpec) {
		return func(p *corev1.PodSpec) { p.Volumes = append(p.Volumes, corev1.Volume{Name: "x", VolumeSource: v}) }
	}
	projected := func(p corev1.VolumeProjection) func(*corev1.PodSpec) {
		return volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{p}}})
	}
	env := func(e corev1.EnvVarSource) func(*corev1.PodSpec) {
		return func(p *corev1.PodSpec) { p.Containers[0].Env = []corev1.EnvVar{{Name: "X", ValueFrom: &e}} }
	}
	named := corev1.LocalObjectReference{Name: "admin-kubeconfig"}
	probe := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Host: "169.254.169.254", Port: intstr.FromInt32(80)}}
	for what, change := range map[string]func(*corev1.PodSpec){
		"the host's files":    volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}),
		"a Secret":            volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "admin-kubeconfig"}}),
		"another ConfigMap":   volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named}}),
		"etcd's disk":         volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-etcd-0"}}),
		"a CSI volume":        volume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "secrets-store.csi.k8s.io"}}),
		"a projected Secret":  projected(corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: named}}),
		"a token for a vault": projected(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t", Audience: "vault"}}),
		"a Secret in env":     env(corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named, Key: "kubeconfig"}}),
		"a ConfigMap in env":  env(corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: named, Key: "x"}}),
		"all Secrets in env": func(p *corev1.PodSpec) {
			p.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named}}}
		},
		"the host's network":   func(p *corev1.PodSpec) { p.HostNetwork, p.SecurityContext.Sysctls = true, nil },
		"the host's processes": func(p *corev1.PodSpec) { p.HostPID = true },
		"the host's IPC":       func(p *corev1.PodSpec) { p.HostIPC = true },
		"a port of the host": func(p *corev1.PodSpec) {
			p.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 6443, HostPort: 6443}}
		},
		"a privileged one":    func(p *corev1.PodSpec) { p.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &yes} },
		"no security context": func(p *corev1.PodSpec) { p.Containers[0].SecurityContext = nil },
		"more privileges":     func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.AllowPrivilegeEscalation = nil },
		"a capability": func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"NET_ADMIN"}
		},
		"all capabilities": func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.Capabilities.Drop = nil },
		"root": func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext.RunAsUser, p.Containers[0].SecurityContext.RunAsNonRoot = &root, nil
		},
		"perhaps root": func(p *corev1.PodSpec) { p.SecurityContext.RunAsNonRoot = &no },
		"no seccomp": func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		},
		"another SELinux type": func(p *corev1.PodSpec) { p.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Type: "spc_t"} },
		"no AppArmor": func(p *corev1.PodSpec) {
			p.SecurityContext.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
		},
		"a sysctl": func(p *corev1.PodSpec) {
			p.SecurityContext.Sysctls = append(p.SecurityContext.Sysctls, corev1.Sysctl{Name: "kernel.msgmax", Value: "1"})
		},
		"an init container": func(p *corev1.PodSpec) {
			p.InitContainers = []corev1.Container{{Name: "x", Image: "x", SecurityContext: p.Containers[0].SecurityContext}}
		},
		"another account": func(p *corev1.PodSpec) {
			p.ServiceAccountName, p.DeprecatedServiceAccount = "capi-provider", "capi-provider"
		},
		"the token everywhere":  func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = &yes },
		"a node of its choice":  func(p *corev1.PodSpec) { p.NodeName = "node1" },
		"root's group":          func(p *corev1.PodSpec) { p.SecurityContext.SupplementalGroups = []int64{0} },
		"the group of files":    func(p *corev1.PodSpec) { p.SecurityContext.FSGroup = &root },
		"another scheduler":     func(p *corev1.PodSpec) { p.SchedulerName = "mine" },
		"the highest priority":  func(p *corev1.PodSpec) { p.PriorityClassName = "system-node-critical" },
		"another runtime":       func(p *corev1.PodSpec) { c := "unsafe"; p.RuntimeClassName = &c },
		"another pull Secret":   func(p *corev1.PodSpec) { p.ImagePullSecrets = []corev1.LocalObjectReference{named} },
		"the kubelet as client": func(p *corev1.PodSpec) { p.Containers[0].LivenessProbe = &corev1.Probe{ProbeHandler: probe} },
		"a hook as client": func(p *corev1.PodSpec) {
			p.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{HTTPGet: probe.HTTPGet}}
		},
	} {
		err := patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) { change(&d.Spec.Template.Spec) })
		g.Expect(err).To(refusedByPolicy(), what)
		d := s.copied(t, h, h.ns, "oooi-edge-new")
		change(&d.Spec.Template.Spec)
		g.Expect(s.c.Create(t.Context(), d, client.DryRunAll)).To(refusedByPolicy(), what)
	}
}

// testThiefsDeployments has more pods, devices, or other networks.
func testThiefsDeployments(t *testing.T, s thief, h hosted) {
	g := NewWithT(t)
	two, thousand := int32(2), intstr.FromInt32(1000)
	for what, change := range map[string]func(*appsv1.Deployment){
		"many pods while it is updated": func(d *appsv1.Deployment) {
			d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &thousand}}
		},
		"a device of VMs": func(d *appsv1.Deployment) {
			one := corev1.ResourceList{"devices.kubevirt.io/vhost-net": resource.MustParse("1")}
			d.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
		},
		"another MAC":         attached(`[{"name":"x","mac":"02:00:00:00:00:01"}]`),
		"another MAC, hidden": attached(`[{"name":"x","m\u0061c":"02:00:00:00:00:01"}]`),
		"the default route":   attached(`[{"name":"x","default-route":["192.168.100.9"]}]`),
		"arguments":           attached(`[{"name":"x","cni-args":{"isGateway":true}}]`),
		"a port of the node":  attached(`[{"name":"x","portMappings":[{"hostPort":6443,"containerPort":1}]}]`),
		"another syntax":      attached("kube-system/host"),
	} {
		g.Expect(patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, change)).To(refusedByPolicy(), what)
		d := s.copied(t, h, h.ns, "oooi-edge-new")
		change(d)
		g.Expect(s.c.Create(t.Context(), d, client.DryRunAll)).To(refusedByPolicy(), what)
	}
	g.Expect(patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.Replicas = &two })).To(refusedByPolicy())
}

// attached sets the networks of a pod, as Multus reads them.
func attached(networks string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Annotations[wire.AnnotationNetworks] = networks }
}

// testThiefsNADs has CNI plugins run on nodes as root.
func testThiefsNADs(t *testing.T, s thief, h hosted) {
	g := NewWithT(t)
	for config, allowed := range map[string]bool{
		`{"name":"x","plugins":[{"type":"bridge","bridge":"br1","ipam":{"type":"static"}},{"type":"tuning","sysctl":{}}]}`:                                true,
		`{"name":"x","type":"macvlan","master":"eth1","capabilities":{"ips":true}}`:                                                                       true,
		`{"type":"host-device","device":"eth0"}`:                                                                                                          false,
		`{"type": "host-device","device":"eth0"}`:                                                                                                         false,
		`{"TYPE":"host-device","device":"eth0"}`:                                                                                                          false,
		`{"type":"bridge","Type":"host-device"}`:                                                                                                          false,
		`{"typ\u0065":"host-device","device":"eth0"}`:                                                                                                     false,
		`{"type":"bridge","plugins":[{"type":"bridge"},{"type":"/usr/bin/nsenter"}]}`:                                                                     false,
		`{"type":"bridge","ipam":{"type":"host-local","dataDir":"/etc"}}`:                                                                                 false,
		`{"type":"macvlan","master":"eth0","mode":"passthru"}`:                                                                                            false,
		`{"type":"macvlan","master":"eth0","mode": "passthru"}`:                                                                                           false,
		`{"linkInContainer":true,"master":"link1","mode":"passthru","type":"macvlan"}`:                                                                    true,
		`{"linkInContainer":true,"master":"eth0","mode":"passthru","type":"macvlan"}`:                                                                     false,
		`{"linkInContainer":false,"master":"link1","mode":"passthru","type":"macvlan"}`:                                                                   false,
		`{"linkInContainer":true,"master":"link1","mode":"passthru","type":"macvlan","master":"eth0","linkInContainer":false}`:                            false,
		`{"type":"bridge","bridge":"br1","mac":"02:00:00:00:00:01"}`:                                                                                      false,
		`{"type":"bridge","bridge":"br1","args":{"cni":{"mac":"02:00:00:00:00:01"}}}`:                                                                     false,
		`{"type":"bridge","bridge":"br1","promiscMode":true}`:                                                                                             false,
		`{"type":"bridge","bridge":"br1","vlanTrunk":[{"minID":1,"maxID":4094}]}`:                                                                         false,
		`{"type":"tuning","promisc":true}`:                                                                                                                false,
		`{"type":"tuning","allmulti":true}`:                                                                                                               false,
		`{"type":"tuning","sysctl":{"net.ipv4.conf.all.forwarding":"1"}}`:                                                                                 false,
		`{"type":"tuning","sysctl":{"net.ipv4.conf.IFNAME.forwarding":"1"}}`:                                                                              false,
		`{"type":"tuning","sysctl":{"net.ipv4.conf.IFNAME.forwarding" : "1"}}`:                                                                            false,
		`{"type":"tuning","sysctl":{"kernel.core_pattern":"|/x"}}`:                                                                                        false,
		`{"type":"firewall","iptablesAdminChainName":"INPUT"}`:                                                                                            false,
		`{"type":"bridge","ipam":{"type":"static","addresses":[{"address":"10.0.0.1/8"}]}}`:                                                               false,
		`{"type":"bridge","ipam":{"type":"static","routes":[{"dst":"10.0.0.0/8"}]}}`:                                                                      false,
		`{"type":"bridge","ipam":{"type":"static","routes":[{"dst":"10.9.0.0/16","gw":"192.168.100.1"},{"dst":"198.51.100.7/32","gw":"192.168.100.1"}]}}`: true,
		`{"type":"bridge","ipam":{"type":"static","routes":[{"dst":"10.9.0.0/16","gw":"192.168.100.1"},{"dst":"0.0.0.0/0","gw":"192.168.100.1"}]}}`:       false,
		`{"type":"bridge","ipam":{"type":"static","routes":[{"dst":"0.0.0.0/1","gw":"192.168.100.1"}]}}`:                                                  false,
		`{"type":"bridge","ipam":{"type":"static","routes":[{"dst":"10.0.0.0/ 8","gw":"192.168.100.1"}]}}`:                                                false,
		`{"type":"bridge","ipam":{"type":"static","routes":[{"dst":"::/8","gw":"192.168.100.1"}]}}`:                                                       false,
		`{"type":"bridge","ipam":{"type":"static","routes":[{"dst":"10.9.0.0/16","dst":"0.0.0.0/0","gw":"192.168.100.1"}]}}`:                              false,
		`{"type":"bridge","ipam":{"type":"static","routes":[{"dst":"10.9.0.0/16","gw":"192.168.100.1","scope":0}]}}`:                                      false,
		`{"type":"bridge","bridge":" :","isGateway":true}`:                                                                                                false,
		`{"type":"bridge",":":1,"isGateway":true}`:                                                                                                        false,
		`{"type":"portmap","runtimeConfig":{"portMappings":[{"hostPort":6443}]}}`:                                                                         false,
		`{"type":"bridge","bridge":"br-ex","isGateway":true,"ipMasq":true}`:                                                                               false,
		`{"type":"bridge","bridge":"br-ex","isgateway":true}`:                                                                                             false,
		"{\"type\":\"bridge\",\"i\u017fGateway\":true}":                                                                                                   false,
		`{"type":"tuning","dataDir":"/etc/kubernetes/manifests"}`:                                                                                         false,
		`{"type":"sriov","deviceID":"0000:01:00.0"}`:                                                                                                      false,
		`{"name":"x"}`: false,
		``:             false,
		`{"type":"sriov","logFile":"/etc/cron.d/x"}`: false,
		"{\"type\"\n:\"host-device\"}":               false,
	} {
		err := s.c.Create(t.Context(), attachment(h, config), client.DryRunAll)
		if allowed {
			g.Expect(err).NotTo(HaveOccurred(), config)
			continue
		}
		g.Expect(err).To(refusedByPolicy(), config)
	}
	for _, config := range valid(t) {
		g.Expect(s.c.Create(t.Context(), attachment(h, config), client.DryRunAll)).To(Succeed(), config)
	}
	g.Expect(patch(t, s, h.ns, wire.EdgeNADName(h.network("vlan100")), &nadv1.NetworkAttachmentDefinition{}, func(n *nadv1.NetworkAttachmentDefinition) {
		n.Spec.Config = strings.Replace(n.Spec.Config, `"type":"bridge"`, `"type":"ptp"`, 1)
	})).To(refusedByPolicy())
}

// attachment is a new NAD of oooi.
func attachment(h hosted, config string) *nadv1.NetworkAttachmentDefinition {
	return &nadv1.NetworkAttachmentDefinition{ObjectMeta: ours(h.ns, "oooi-x"), Spec: nadv1.NetworkAttachmentDefinitionSpec{Config: config}}
}

// valid are the edge NADs for NADs of users, which have more than edges need.
func valid(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, config := range []string{
		`{"name":"net.100","type":"bridge","bridge":"br1","vlan":7,"description":"VLAN für die VMs"}`,
		`{"name":"x","type":"bridge","bridge":"br1","comment":"a \"b\" c","macspoofchk":true,"preserveDefaultVlan":false}`,
		`{"name":"x","type":"cnv-bridge","bridge":"br1","args":{"cni":{"logFile":"/var/log/x","mac":"02:00:00:00:00:01"}}}`,
		`{"name":"x","plugins":[{"type":"macvlan","master":"eth1.7","mode":"bridge","owner":{"type":"team"}},{"type":"tuning","mtu":1400,"promisc":true,"sysctl":{"net.core.somaxconn":"512"}},{"type":"firewall"}]}`,
		`{"name":"x","plugins":[{"type":"sriov","vlan":7,"vlanQoS":1,"spoofchk":"off","trust":"on","link_state":"auto","max_tx_rate":1000,"logLevel":"debug"},{"type":"bandwidth","ingressRate":1000000,"ingressBurst":1000000}]}`,
		`{"name":"x","type":"ovn-k8s-cni-overlay","topology":"layer2","netAttachDefName":"clusters/vlan100"}`,
	} {
		for _, forward := range []bool{false, true} {
			a, fault := cni.Attach(cni.Object{Namespace: "clusters", Name: "vlan100", Config: config, ResourceName: "example.com/vf"}, cni.Nodes{ForwardByDefault: forward})
			NewWithT(t).Expect(fault).To(BeNil(), config)
			route := network.Route{Destination: netip.MustParsePrefix("10.9.0.0/16"), Via: netip.MustParseAddr("192.168.100.1")}
			out = append(out, a.EdgeNADConfig, cni.WithRoutes(a.EdgeNADConfig, []network.Route{route, route}))
			if a.VIPNADConfig != "" {
				out = append(out, a.VIPNADConfig)
			}
		}
	}
	return out
}
