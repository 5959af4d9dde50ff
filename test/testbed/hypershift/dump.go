// This file writes a hosted cluster as objects.yaml of a story (test/scenarios): the fields that oooi reads of objects that HyperShift wrote. It
// reads no Secrets. It leaves out what differs between two runs and does not matter.
package hypershift

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const passthroughService = "default-ingress-passthrough-service-"

// Dump returns YAML documents: the HostedCluster with its NodePools, what its control plane publishes, its VMs and their networks, and the nodes.
func (h *HyperShift) Dump(ctx context.Context, name string) ([]byte, error) {
	ns := ControlPlaneNamespace(name)
	var all []unstructured.Unstructured
	for _, what := range [][]string{
		{"-n", Namespace, "hostedclusters"}, {"-n", Namespace, "nodepools"}, {"-n", ns, "services"}, {"-n", ns, "routes"},
		{"-n", ns, "endpointslices"}, {"-n", ns, "virtualmachineinstances"}, {"-A", "network-attachment-definitions"}, {"nodes"},
	} {
		out, err := h.cluster.Kubectl(ctx, append([]string{"get", "-o", "json"}, what...)...)
		if err != nil {
			return nil, err
		}
		var list struct{ Items []map[string]any }
		if err := json.Unmarshal(out, &list); err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			all = append(all, unstructured.Unstructured{Object: o})
		}
	}
	var docs []any
	for _, o := range all {
		if told(o, name, all) {
			docs = append(docs, trim(o).Object)
		}
	}
	return documents(docs...)
}

// told reports whether o belongs to the story of the hosted cluster with this name.
func told(o unstructured.Unstructured, name string, all []unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "HostedCluster":
		return o.GetName() == name
	case "NodePool":
		return text(o, "spec", "clusterName") == name
	case "Service":
		return published(o, all)
	case "EndpointSlice": // Those of Services with a selector add nothing to their Service.
		return strings.HasPrefix(o.GetLabels()["kubernetes.io/service-name"], passthroughService)
	case "NetworkAttachmentDefinition":
		return o.GetLabels()["app.kubernetes.io/part-of"] == "" && slices.ContainsFunc(all, func(other unstructured.Unstructured) bool {
			named, err := json.Marshal(other.Object["spec"])
			return err == nil && other.GetKind() == "NodePool" && text(other, "spec", "clusterName") == name &&
				strings.Contains(string(named), `"`+o.GetNamespace()+"/"+o.GetName()+`"`)
		})
	}
	return true
}

// published reports whether VMs may have to reach a Service: directly, through a Route, or because of a user's annotation.
func published(s unstructured.Unstructured, all []unstructured.Unstructured) bool {
	if text(s, "spec", "type") != "ClusterIP" || strings.HasPrefix(s.GetName(), passthroughService) || len(ours(s)) > 0 {
		return true
	}
	keep := []string{"kube-apiserver", "konnectivity-server", "oauth-openshift", "ignition-server-proxy", "router"}
	return slices.Contains(keep, s.GetName()) || slices.ContainsFunc(all, func(r unstructured.Unstructured) bool {
		return r.GetKind() == "Route" && text(r, "spec", "to", "name") == s.GetName()
	})
}

// trim returns o without the fields that no plan depends on.
func trim(o unstructured.Unstructured) unstructured.Unstructured {
	meta := values{"name": o.GetName()}
	for key, value := range map[string]string{"namespace": o.GetNamespace(), "creationTimestamp": text(o, "metadata", "creationTimestamp")} {
		if value != "" && o.GetKind() != "Node" {
			meta[key] = value
		}
	}
	if labels := o.GetLabels(); len(labels) > 0 && o.GetKind() != "Node" {
		meta["labels"] = labels
	}
	if annotations := ours(o); len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	o.Object["metadata"] = meta
	for _, path := range [][]string{
		{"status", "conditions"}, {"status", "version"}, {"status", "kubeadminPassword"}, {"status", "kubeconfig"}, {"status", "customKubeconfig"}, {"status", "platform"},
		{"spec", "etcd"}, {"spec", "pullSecret"}, {"spec", "sshKey"}, {"spec", "secretEncryption"}, {"spec", "serviceAccountSigningKey"}, {"spec", "auditWebhook"},
		{"spec", "clusterIPs"}, {"spec", "internalTrafficPolicy"}, {"spec", "ipFamilies"}, {"spec", "ipFamilyPolicy"}, {"spec", "sessionAffinity"},
		{"spec", "allocateLoadBalancerNodePorts"}, {"spec", "externalTrafficPolicy"},
	} {
		unstructured.RemoveNestedField(o.Object, path...)
	}
	switch o.GetKind() {
	case "NodePool":
		delete(o.Object, "status")
	case "VirtualMachineInstance":
		o.Object["spec"] = values{"domain": values{"devices": values{}}, "networks": value(o, "spec", "networks")}
		o.Object["status"] = values{"interfaces": value(o, "status", "interfaces"), "phase": value(o, "status", "phase")}
	case "Node":
		o.Object["spec"] = values{"podCIDRs": value(o, "spec", "podCIDRs")}
		o.Object["status"] = values{"addresses": value(o, "status", "addresses"),
			"nodeInfo": values{"containerRuntimeVersion": value(o, "status", "nodeInfo", "containerRuntimeVersion")}}
	}
	return o
}

// ours returns the annotations of oooi.
func ours(o unstructured.Unstructured) map[string]string {
	annotations := o.GetAnnotations()
	for key := range annotations {
		if !strings.HasPrefix(key, "hostedcluster.densityops.com/") {
			delete(annotations, key)
		}
	}
	return annotations
}

func value(o unstructured.Unstructured, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return v
}

func text(o unstructured.Unstructured, path ...string) string {
	s, _ := value(o, path...).(string)
	return s
}
