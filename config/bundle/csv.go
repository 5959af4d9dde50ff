// This file decides the ClusterServiceVersion: the Deployments and rights of the
// operator and of the keeper as config/ has them, and what a catalog shows.

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	opversion "github.com/operator-framework/api/pkg/lib/version"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/hcp/settings"
)

// created is the date of this version of the bundle.
var created = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

const (
	repository  = "https://github.com/cldmnky/oooi"
	displayName = "oooi for Hosted Control Planes"
	summary     = "DHCP, DNS and a proxy to the control plane for hosted clusters whose KubeVirt VMs are on an isolated VLAN, from one annotation on the HostedCluster."
)

func serviceVersion(in installation, iconPath string) (*v1alpha1.ClusterServiceVersion, error) {
	icon, err := os.ReadFile(iconPath)
	if err != nil {
		return nil, err
	}
	images, err := relatedImages(in)
	if err != nil {
		return nil, err
	}
	csv := &v1alpha1.ClusterServiceVersion{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.ClusterServiceVersionAPIVersion, Kind: v1alpha1.ClusterServiceVersionKind},
		ObjectMeta: metav1.ObjectMeta{
			Name:        packageName + ".v" + in.version(),
			Namespace:   "placeholder",
			Annotations: annotations(in, images),
			Labels: map[string]string{"operatorframework.io/arch.amd64": "supported", "operatorframework.io/arch.arm64": "supported",
				"operatorframework.io/os.linux": "supported"},
		},
		Spec: v1alpha1.ClusterServiceVersionSpec{
			DisplayName:    displayName,
			Description:    description(),
			Version:        opversion.OperatorVersion{Version: semver.MustParse(in.version())},
			Maturity:       "alpha",
			MinKubeVersion: "1.31.0",
			Keywords:       []string{"hypershift", "hosted control planes", "kubevirt", "vlan", "dhcp", "dns", "proxy"},
			Maintainers:    []v1alpha1.Maintainer{{Name: "cldmnky", Email: "cldmnky@users.noreply.github.com"}},
			Provider:       v1alpha1.AppLink{Name: "cldmnky", URL: repository},
			Links:          links(in),
			Icon:           []v1alpha1.Icon{{Data: base64.StdEncoding.EncodeToString(icon), MediaType: "image/svg+xml"}},
			RelatedImages:  images,
			InstallModes: []v1alpha1.InstallMode{
				{Type: v1alpha1.InstallModeTypeOwnNamespace}, {Type: v1alpha1.InstallModeTypeSingleNamespace},
				{Type: v1alpha1.InstallModeTypeMultiNamespace}, {Type: v1alpha1.InstallModeTypeAllNamespaces, Supported: true},
			},
			InstallStrategy: v1alpha1.NamedInstallStrategy{
				StrategyName: v1alpha1.InstallStrategyNameDeployment,
				StrategySpec: strategy(in),
			},
		},
	}
	return csv, nil
}

// strategy is what the Operator Lifecycle Manager creates.
func strategy(in installation) v1alpha1.StrategyDetailsDeployment {
	out := v1alpha1.StrategyDetailsDeployment{}
	for _, d := range in.deployments {
		out.DeploymentSpecs = append(out.DeploymentSpecs, v1alpha1.StrategyDeploymentSpec{Name: d.Name, Label: d.Labels, Spec: d.Spec})
		out.Permissions = append(out.Permissions, v1alpha1.StrategyDeploymentPermissions{ServiceAccountName: d.Name, Rules: in.rules[d.Name]})
		out.ClusterPermissions = append(out.ClusterPermissions, v1alpha1.StrategyDeploymentPermissions{ServiceAccountName: d.Name, Rules: in.clusterRules[d.Name]})
	}
	return out
}

// relatedImages are what a mirror must hold: the operator's own image first, then every
// RELATED_IMAGE_ of the operator.
func relatedImages(in installation) ([]v1alpha1.RelatedImage, error) {
	manager := in.deployments[0].Spec.Template.Spec.Containers[0]
	out := []v1alpha1.RelatedImage{{Name: operator, Image: manager.Image}}
	for _, e := range manager.Env {
		if name, ok := strings.CutPrefix(e.Name, "RELATED_IMAGE_"); ok {
			out = append(out, v1alpha1.RelatedImage{Name: strings.ToLower(name), Image: e.Value})
		}
	}
	if len(out) == 1 {
		return nil, fmt.Errorf("the operator names no RELATED_IMAGE_")
	}
	return out, nil
}

// annotations claim what tests show, and no more. Everything runs from images that are named by
// digest, without a host of the Internet; OLM's proxy settings reach the edges. Programs use Go's
// FIPS 140-3 module, but Envoy does not use a validated one.
func annotations(in installation, images []v1alpha1.RelatedImage) map[string]string {
	out := map[string]string{
		"alm-examples":   "[]",
		"capabilities":   "Basic Install",
		"categories":     "Networking, OpenShift Optional",
		"containerImage": images[0].Image,
		"createdAt":      created.Format(time.RFC3339),
		"description":    summary,
		"repository":     repository,
		"support":        "Community",
		"operatorframework.io/suggested-namespace":          in.namespace.Name,
		"operatorframework.io/suggested-namespace-template": namespaceTemplate(in),
		"operators.openshift.io/valid-subscription":         "[]",
	}
	for _, feature := range []string{"disconnected", "fips-compliant", "proxy-aware", "tls-profiles", "token-auth-aws", "token-auth-azure", "token-auth-gcp", "cnf", "cni", "csi"} {
		out["features.operators.openshift.io/"+feature] = "false"
	}
	out["features.operators.openshift.io/disconnected"], out["features.operators.openshift.io/proxy-aware"] = "true", "true"
	return out
}

// namespaceTemplate is the namespace as the console creates it, with its Pod Security labels.
func namespaceTemplate(in installation) string {
	text, err := yaml.YAMLToJSON(marshal(in.namespace))
	if err != nil {
		panic("bundle: what we build is always YAML: " + err.Error())
	}
	return string(text)
}

// links are the pages that a catalog shows, as they were in this version.
func links(in installation) []v1alpha1.AppLink {
	docs := repository + "/blob/v" + in.version() + "/docs/"
	return []v1alpha1.AppLink{
		{Name: "Source", URL: repository},
		{Name: "Installation", URL: docs + "install.md"},
		{Name: "Create a hosted cluster", URL: docs + "create-cluster.md"},
		{Name: "Annotations", URL: docs + "annotations.md"},
		{Name: "Problems and their fixes", URL: docs + "problems.md"},
		{Name: "Security", URL: docs + "security.md"},
	}
}

// description is the text in the catalog. Its table of annotations is the one that
// the operator uses.
func description() string {
	var b strings.Builder
	b.WriteString(summary + `

## Prerequisites

- OpenShift 4.18 or later with hosted control planes, or Kubernetes 1.31 or later with HyperShift. Without them, the operator starts and waits.
- KubeVirt (OpenShift Virtualization), and Multus.
- A NetworkAttachmentDefinition without IPAM, of type bridge, macvlan, sriov or OVN-Kubernetes localnet or layer2. NodePools name it.

Install in the namespace ` + "`oooi-system`" + ` that the console suggests. It has the Pod Security level *restricted*.

## One annotation

A hosted cluster opts in with the annotation ` + "`" + settings.Prefix + "network=auto`" + ` on its HostedCluster. A condition of the HostedCluster reports the result:

    oc annotate hostedcluster/blue -n clusters ` + settings.Prefix + `network=auto
    oc wait --for=condition=` + settings.Prefix + `NetworkReady hostedcluster/blue -n clusters

Everything runs in the cluster's control plane namespace, without privileges, and is removed with it. oooi defines no custom resource.

## Disconnected clusters, proxies and FIPS

- All images are named by digest, so that a mirror can serve them. At run time, oooi needs no host of the Internet.
- The cluster-wide proxy applies: edges reach the allowed external hosts through it.
- The operator and the servers of edges use Go's FIPS 140-3 module v1.0.0 by default. This is no claim that oooi as a whole is certified.

## Uninstall

Delete the Subscription and the ClusterServiceVersion. Edges keep serving their VMs, without an operator that follows changes.
To remove edges, set ` + "`" + settings.Prefix + "network=none`" + ` on each HostedCluster before. Delete the namespace ` + "`oooi-system`" + ` to remove the admission policies.

## Support

oooi is a community project. Report problems as issues of the [repository](` + repository + `), and vulnerabilities in private as its SECURITY.md describes.

## All annotations

| key (` + "`" + settings.Prefix + "…`" + `) | meaning | default |
| --- | --- | --- |
`)
	for _, k := range settings.Keys() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, k.Meaning, k.Default)
	}
	return b.String()
}

// marshal is v as YAML without what is null or a status.
func marshal(v any) []byte {
	text, err := json.Marshal(v)
	var tree any
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if m, ok := tree.(map[string]any); ok {
		// Typed objects carry a status that a manifest must not.
		delete(m, "status")
	}
	var out []byte
	if err == nil {
		out, err = yaml.Marshal(withoutNulls(tree))
	}
	if err != nil {
		panic("bundle: what we build is always YAML: " + err.Error())
	}
	return out
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, x any) bool { return x == nil })
		for k, x := range v {
			v[k] = withoutNulls(x)
		}
	case []any:
		for i, x := range v {
			v[i] = withoutNulls(x)
		}
	}
	return v
}
