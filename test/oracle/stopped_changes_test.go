// This file lists what keeps HyperShift from making a control plane or nodes: what its controllers refuse and report in conditions, what users
// pause or turn off, and values that its validation refuses. The sources are, in both tested versions of HyperShift: hostedcluster_controller.go ("Block here",
// validateConfigAndClusterCapabilities, validateNetworks), hostedcontrolplane_controller.go ("Block here"), nodepool_controller.go (reconcile), its
// conditions.go, kubevirt.go and nto.go, and tokensecret_controller.go of the Ignition server.

package oracle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	oooiplan "github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/test/commands"
)

// report adds a condition that HyperShift writes for the present generation.
func report(o object, kind, status, reason, message string) {
	condition := object{"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-11-28T10:00:00Z", "observedGeneration": 3}
	set(o, 3, "metadata", "generation")
	set(o, append(list(o, "status", "conditions"), condition), "status", "conditions")
}

// unpublished takes away what HyperShift writes when there is a control plane.
func unpublished(w *world) {
	for _, p := range published {
		w.remove("Service", p.service)
		w.remove("Route", p.route)
	}
	delete(w.hosted(), "status")
	delete(w.pool(), "status")
}

// noNodes are changes after which no new node becomes Ready, whatever else is served.
func noNodes() (out []change) {
	add := func(name, of, word, least string, refused bool, apply func(w *world)) {
		out = append(out, change{name: name, of: of, words: []string{strings.ToLower(word)}, least: least, refused: refused, apply: apply})
	}
	for _, c := range []string{"ValidConfiguration", "SupportedHostedCluster", "ValidReleaseImage", "ValidHostedControlPlaneConfiguration"} {
		add("there is no control plane, and the HostedCluster has "+c+" False", "APIServer", c, "Waiting", true, func(w *world) {
			unpublished(w)
			report(w.hosted(), c, "False", "Invalid", "no such image")
		})
		out[len(out)-1].alone = true
	}
	add("there is no control plane, and HyperShift fails before it validates", "APIServer", "ReconciliationSucceeded", "Waiting", true, func(w *world) {
		unpublished(w)
		report(w.hosted(), "ReconciliationSucceeded", "False", "ReconciliationError", `secrets "pull-secret" not found`)
	})
	out[len(out)-1].alone, out[len(out)-1].without = true, []string{"route"} // There, the API is published as soon as it has a host name.
	for _, c := range []string{"UpdateManagementEnabled", "ValidReleaseImage", "ValidArchPlatform", "ReconciliationActive", "ValidMachineConfig", "ValidPlatformImage", "ValidMachineTemplate", "ValidTuningConfig"} {
		add("the only NodePool has "+c+" False", "pool status", c, "Warning", false, func(w *world) { report(w.pool(), c, "False", "ValidationFailed", "no such ConfigMap") })
		out[len(out)-1].on = "Ignition" // Before it is published, conditions of NodePools do not count.
	}
	add("the Ignition server refuses the configuration of the only NodePool", "pool status", "ValidGeneratedPayload", "Warning", false,
		func(w *world) {
			report(w.pool(), "ValidGeneratedPayload", "", "InvalidConfig", "failed to generate payload")
		})
	out[len(out)-1].on = "Ignition"
	add("the only NodePool is paused", "pool status", "spec.pausedUntil", "Warning", false, func(w *world) { set(w.pool(), "true", "spec", "pausedUntil") })
	add("the HostedCluster is paused", "machines", "spec.pausedUntil", "Warning", true, func(w *world) { set(w.hosted(), "true", "spec", "pausedUntil") })
	add("infraID is too long for a label", "machines", "spec.infraID", "Warning", false, func(w *world) { set(w.hosted(), strings.Repeat("a", 64), "spec", "infraID") })
	add("Cluster API is turned off", "machines", "hypershift.openshift.io/disable-machine-management", "Warning", false,
		func(w *world) { annotate(w.hosted(), "hypershift.openshift.io/disable-machine-management", "") })
	return out
}

// stoppedChanges are those of noNodes, and changes after which some nodes may not become Ready.
func stoppedChanges() []change {
	out := noNodes()
	add := func(name, of, word string, refused bool, apply func(w *world)) *change {
		out = append(out, change{name: name, of: of, words: []string{strings.ToLower(word)}, least: "Warning", refused: refused, apply: apply})
		return &out[len(out)-1]
	}
	for _, c := range []string{"ValidConfiguration", "SupportedHostedCluster", "ValidReleaseImage", "ValidHostedControlPlaneConfiguration"} {
		add("the HostedCluster has "+c+" False", "status", c, false, func(w *world) { report(w.hosted(), c, "False", "Invalid", "no such image") }).on = "APIServer" // Some take its status away.
	}
	add("one of two NodePools has ValidReleaseImage False", "pool status", "ValidReleaseImage", false, func(w *world) {
		report(w.secondPool(), "ValidReleaseImage", "False", "ValidationFailed", "no such image")
	}).on = "Ignition"
	add("the Ignition server is turned off", "Ignition", "hypershift.openshift.io/disable-ignition-server", true, func(w *world) { annotate(w.hosted(), "hypershift.openshift.io/disable-ignition-server", "true") })
	for _, of := range []string{"APIServer", "Konnectivity", "Ignition", "OAuthServer"} {
		add("the HostedCluster exists, and spec.services lacks "+titles[of], of, of, true, func(w *world) {
			unpublished(w)
			set(w.hosted(), "2026-11-28T10:00:00Z", "metadata", "creationTimestamp")
			var rest []any
			for _, s := range list(w.hosted(), "spec", "services") {
				if text(s, "service") != of {
					rest = append(rest, s)
				}
			}
			set(w.hosted(), rest, "spec", "services")
		}).alone = true
		add(titles[of]+" is at node port 443, which Kubernetes refuses", of, of, true, func(w *world) { announced(w, of, 443) })
	}
	add("the API and OAuth are at one node port", "APIServer", "30777", true, func(w *world) {
		announced(w, "APIServer", 30777)
		announced(w, "OAuthServer", 30777)
	}).on = "OAuthServer"
	add("the API and konnectivity have one host name", "APIServer", "one.example.com", true, func(w *world) {
		lb("APIServer", "one.example.com", "10.240.3.7")(w)
		lb("Konnectivity", "one.example.com", "10.240.3.8")(w)
	}).on = "Konnectivity"
	cidr := func(c ...string) (all []any) {
		for _, one := range c {
			all = append(all, object{"cidr": one})
		}
		return all
	}
	hosted := func(name, word string, value any, path ...string) {
		add(name, "CIDR", word, false, func(w *world) { set(w.hosted(), value, append([]string{"spec", "networking"}, path...)...) })
	}
	hosted("nodes reach the API at an address of pods", "10.132.0.9/32", "10.132.0.9", "apiServer", "advertiseAddress")
	hosted("nodes reach the API at an address of Services", "172.31.0.9/32", "172.31.0.9", "apiServer", "advertiseAddress")
	hosted("nodes reach the API at an address of machines", "192.168.100.77/32", "192.168.100.77", "apiServer", "advertiseAddress")
	hosted("Services have the default address of the API", "172.20.0.1/32", cidr("172.20.0.0/16"), "serviceNetwork")
	out[len(out)-1].alone = true // Other addresses may then be none of Services.
	hosted("Services have eight addresses", "172.31.0.0/29", cidr("172.31.0.0/29"), "serviceNetwork")
	out[len(out)-1].alone = true // Others are published at addresses of Services.
	hosted("Services have two IPv4 networks", "172.30.0.0/16", cidr("172.31.0.0/16", "172.30.0.0/16"), "serviceNetwork")
	hosted("pods have IPv6, and Services do not", "fd01::/48", cidr("10.132.0.0/14", "fd01::/48"), "clusterNetwork")
	hosted("machines have IPv6, and pods do not", "fd55::/64", cidr("192.168.100.0/24", "fd55::/64"), "machineNetwork")
	out[len(out)-1].on = "NAD" // Some add VMs. HyperShift refuses only new clusters.
	hosted("the hosted cluster has OpenShiftSDN", "OpenShiftSDN", "OpenShiftSDN", "networkType")
	out[len(out)-1].alone = true // Others are about OVN-Kubernetes.
	for _, field := range []string{"v6InternalSubnet", "ipv6.internalJoinSubnet"} {
		add("pods have no IPv6, and OVN-Kubernetes has "+field, "CIDR", "fd98::/64", false, func(w *world) {
			set(w.hosted(), "fd98::/64", append([]string{"spec", "operatorConfiguration", "clusterNetworkOperator", "ovnKubernetesConfig"}, strings.Split(field, ".")...)...)
		}).alone = true
	}
	add("the API server has a certificate with HyperShift's name of it", "certificates", "kubernetes.default.svc", false, func(w *world) {
		set(w.hosted(), []any{object{"names": []any{"kubernetes.default.svc"}, "servingCertificate": object{"name": "mine"}}}, "spec", "configuration", "apiServer", "servingCerts", "namedCertificates")
	})
	add("the range of node ports is one port", "node ports", "30000", false, func(w *world) { set(w.hosted(), "30000", "spec", "configuration", "network", "serviceNodePortRange") })
	add("the name of a NodePool is too long", "pool", strings.Repeat("a", 64), false, func(w *world) { set(w.pool(), strings.Repeat("a", 64), "metadata", "name") }).alone = true
	for _, label := range [][3]string{{"topology-aware-scheduling-enabled", "true", "InPlace"}, {"team", "a & b", "InPlace"}, {"team", "a & b", "Replace"}} { // nodepool/capi.go
		add("nodes have label "+label[0]+", and a NodePool updates by "+label[2], "pool", fmt.Sprintf("%q", label[0]+"="+label[1]), false, func(w *world) {
			set(w.pool(), object{label[0]: label[1]}, "spec", "nodeLabels")
			set(w.pool(), label[2], "spec", "management", "upgradeType")
		}).on = "pool status" // Another reason may come first.
	}
	hosted("pods have IPv6 first, and Services IPv4", "fd01::/48", cidr("fd01::/48", "10.132.0.0/14"), "clusterNetwork")
	hosted("Services have IPv6 first, and pods IPv4", "fd02::/112", cidr("fd02::/112", "172.31.0.0/16"), "serviceNetwork")
	hosted("machines have IPv6 first, and pods IPv4", "fd55::/64", cidr("fd55::/64", "192.168.100.0/24"), "machineNetwork")
	hosted("nodes reach the API at an IPv6 address, and pods have IPv4", "fd00::1", "fd00::1", "apiServer", "advertiseAddress")
	return out
}

// secondPool adds a NodePool two like the first, and returns it.
func (w *world) secondPool() object {
	w.add(`{apiVersion: hypershift.openshift.io/v1beta1, kind: NodePool, metadata: {name: two, namespace: clusters}, spec: {clusterName: blue, replicas: 1, release: {image: '` + release + `'},
platform: {type: KubeVirt, kubevirt: {additionalNetworks: [{name: clusters/vlan100}], attachDefaultNetwork: false}}}}`)
	return w.find("NodePool", "two")
}

// announced sets the node port of a service before HyperShift publishes it.
func announced(w *world, of string, port int) {
	nodePort(of, "10.240.0.7", 0)(w)
	set(w.strategyOf(of), port, "nodePort", "port")
	if of == "APIServer" {
		delete(w.hosted(), "status")
	}
}

// exitOf returns the text and the exit code of `oooi plan`.
func exitOf(t testing.TB, w *world) (string, int) {
	t.Helper()
	w.publish()
	out, _, code := commands.Run(t, []*cobra.Command{oooiplan.New()}, w.manifests(), "plan", "-f", "-")
	return out, code
}

// TestNoNodes: if it is certain that no new node becomes Ready, the plan says so.
func TestNoNodes(t *testing.T) {
	for _, c := range noNodes() {
		t.Run(c.name, func(t *testing.T) {
			w := worldOf(t, "lb-ip")
			c.apply(w)
			out, code := exitOf(t, w)
			first, _, _ := strings.Cut(out, "\n")
			if code != 2 || strings.Contains(first, "will become Ready") {
				t.Errorf("exit code %d: %s", code, first)
			}
			w = worldOf(t, "lb-ip")
			w.addVM("a", "clusters/vlan100", "02:aa:00:00:00:09")
			c.apply(w)
			out, _ = exitOf(t, w)
			if first, _, _ := strings.Cut(out, "\n"); !c.refused && !strings.HasSuffix(first, ": nodes may not become Ready.") {
				t.Errorf("with VMs, which can still boot: %s", first)
			}
		})
	}
}

// TestOneOfTwoNodePools: nodes of the other one become Ready, and the plan says which one gets none.
func TestOneOfTwoNodePools(t *testing.T) {
	for name, apply := range map[string]func(pool object){
		"paused": func(pool object) { set(pool, "true", "spec", "pausedUntil") },
		"refused": func(pool object) {
			report(pool, "ValidMachineConfig", "False", "ValidationFailed", "no such ConfigMap")
		},
		"labeled": func(pool object) {
			set(pool, object{"topology-aware-scheduling-enabled": "true"}, "spec", "nodeLabels")
			set(pool, "InPlace", "spec", "management", "upgradeType")
		},
	} {
		for _, vm := range []bool{false, true} {
			t.Run(fmt.Sprint(name, vm), func(t *testing.T) {
				w := worldOf(t, "lb-ip")
				if vm {
					w.addVM("a", "clusters/vlan100", "02:aa:00:00:00:09")
				}
				apply(w.secondPool())
				out, code := exitOf(t, w)
				first, _, _ := strings.Cut(out, "\n")
				if code != map[string]int{"labeled": 2}[name] || !strings.Contains(first, ": nodes will become Ready, but NodePool two gets no new nodes") {
					t.Errorf("exit code %d: %s", code, first)
				}
			})
		}
	}
}

// TestOtherConditions: other conditions, and those of former generations, change nothing.
func TestOtherConditions(t *testing.T) {
	want, _ := exitOf(t, worldOf(t, "lb-ip"))
	for name, apply := range map[string]func(w *world){
		"True": func(w *world) { report(w.hosted(), "ValidConfiguration", "True", "AsExpected", "") },
		"former": func(w *world) {
			report(w.hosted(), "ValidConfiguration", "False", "Invalid", "")
			set(w.hosted(), 4, "metadata", "generation")
		},
		"former, of the NodePool": func(w *world) {
			report(w.pool(), "ValidMachineConfig", "False", "Invalid", "")
			set(w.pool(), 4, "metadata", "generation")
		},
		"no HostedControlPlane": func(w *world) {
			report(w.hosted(), "ValidHostedControlPlaneConfiguration", "Unknown", "StatusUnknown", "The hosted control plane is not found")
		},
		"no nodes yet": func(w *world) {
			for _, c := range []string{"Available", "IgnitionEndpointAvailable", "ClusterVersionSucceeding", "ValidReleaseInfo", "Degraded", "ReconciliationSucceeded", "DataPlaneConnectionAvailable"} {
				report(w.hosted(), c, "False", "NotFound", "")
			}
			for _, c := range []string{"ReachedIgnitionEndpoint", "IgnitionEndpointAvailable", "AllMachinesReady", "AllNodesHealthy", "Ready", "AutoscalingEnabled", "AutorepairEnabled", "UpdatingVersion", "SupportedVersionSkew", "KubeVirtNodesLiveMigratable"} {
				report(w.pool(), c, "False", "NotFound", "")
			}
			report(w.pool(), "ValidGeneratedPayload", "Unknown", "", "Unable to get status data from token secret")
		},
		"not known": func(w *world) {
			for _, c := range []string{"ValidConfiguration", "SupportedHostedCluster", "ValidReleaseImage", "ReconciliationActive", "ReconciliationSucceeded"} {
				report(w.hosted(), c, "Unknown", "StatusUnknown", "")
			}
		},
		"autoscaling from zero": func(w *world) { // setMachineDeploymentReplicas begins with one node nevertheless. Only AWS has ValidPlatformConfig False.
			report(w.pool(), "AutoscalingEnabled", "False", "ValidationFailed", "Autoscaling from zero (min=0) is not supported for KubeVirt platform")
			report(w.pool(), "ValidPlatformConfig", "False", "AWSError", "")
		},
		"an architecture that KubeVirt does not have, in whose place HyperShift takes another": func(w *world) { // validArchPlatformCondition returns no error.
			set(w.pool(), "ppc64le", "spec", "arch")
			report(w.pool(), "ValidArchPlatform", "False", "InvalidArchPlatform", "CPU arch ppc64le is not supported for platform: KubeVirt")
		},
		"a NodePool without nodes": func(w *world) {
			w.add(`{apiVersion: hypershift.openshift.io/v1beta1, kind: NodePool, metadata: {name: none, namespace: clusters}, spec: {clusterName: blue, replicas: 0, pausedUntil: 'true', release: {image: '` + release + `'},
platform: {type: KubeVirt, kubevirt: {attachDefaultNetwork: true}}}}`)
			set(w.find("NodePool", "none"), list(w.pool(), "spec", "platform", "kubevirt", "additionalNetworks"), "spec", "platform", "kubevirt", "additionalNetworks")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, "lb-ip")
			apply(w)
			got, _ := exitOf(t, w)
			if first := strings.SplitN(got, "\n", 2)[0]; first != strings.SplitN(want, "\n", 2)[0] {
				t.Error(first)
			}
		})
	}
}

// TestMachinesWithoutVMs: HyperShift says so in a condition, and no VirtualMachineInstance does (machine.go of
// cluster-api-provider-kubevirt). Machines that boot are other reasons.
func TestMachinesWithoutVMs(t *testing.T) {
	for reason, absent := range map[string]bool{
		"VMCreateFailed": true, "DVPending": true, "DVFailed": true, "DVNotReady": true, "DVImagePullFailed": true, "Bootstrapping,DVPending": true,
		"Bootstrapping": false, "WaitingForBootstrapData": false, "WaitingForClusterInfrastructure": false, "NodeNotFound": false, "VMNotReady": false,
	} {
		t.Run(reason, func(t *testing.T) {
			w := worldOf(t, "lb-ip")
			report(w.pool(), "AllMachinesReady", "False", reason, "2 of 2 machines are not ready")
			out, _ := exitOf(t, w)
			if first, _, _ := strings.Cut(out, "\n"); strings.Contains(first, "will become Ready") == absent || strings.Contains(out, "AllMachinesReady") != absent {
				t.Errorf("%s", first)
			}
		})
	}
}
