// This file decides the ClusterServiceVersion: the Deployments and rights of the
// operator and of the keeper as config/ has them, and what a catalog shows.

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
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
			Name:        packageName + ".v" + version,
			Namespace:   "placeholder",
			Annotations: annotations(images),
			Labels:      map[string]string{"operatorframework.io/arch.amd64": "supported", "operatorframework.io/os.linux": "supported"},
		},
		Spec: v1alpha1.ClusterServiceVersionSpec{
			DisplayName:    displayName,
			Description:    description(),
			Version:        opversion.OperatorVersion{Version: semver.MustParse(version)},
			Maturity:       "alpha",
			MinKubeVersion: "1.31.0",
			Keywords:       []string{"hypershift", "hosted control planes", "kubevirt", "vlan", "dhcp", "dns", "proxy"},
			Maintainers:    []v1alpha1.Maintainer{{Name: "cldmnky", Email: "cldmnky@users.noreply.github.com"}},
			Provider:       v1alpha1.AppLink{Name: "cldmnky", URL: repository},
			Links:          []v1alpha1.AppLink{{Name: "Source", URL: repository}, {Name: "Problems and their fixes", URL: repository + "/blob/main/docs/problems.md"}},
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
	out := v1alpha1.StrategyDetailsDeployment{
		Permissions: []v1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: operator, Rules: in.rules}},
	}
	for _, d := range in.deployments {
		out.DeploymentSpecs = append(out.DeploymentSpecs, v1alpha1.StrategyDeploymentSpec{Name: d.Name, Label: d.Labels, Spec: d.Spec})
		out.ClusterPermissions = append(out.ClusterPermissions, v1alpha1.StrategyDeploymentPermissions{ServiceAccountName: d.Name, Rules: in.clusterRules[d.Name]})
	}
	return out
}

// relatedImages are what a mirror must hold: every RELATED_IMAGE_ of the
// operator.
func relatedImages(in installation) ([]v1alpha1.RelatedImage, error) {
	var out []v1alpha1.RelatedImage
	for _, e := range in.deployments[0].Spec.Template.Spec.Containers[0].Env {
		if name, ok := strings.CutPrefix(e.Name, "RELATED_IMAGE_"); ok {
			out = append(out, v1alpha1.RelatedImage{Name: strings.ToLower(name), Image: e.Value})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the operator names no RELATED_IMAGE_")
	}
	return out, nil
}

// annotations claim what tests show, and no more.
func annotations(images []v1alpha1.RelatedImage) map[string]string {
	out := map[string]string{
		"alm-examples":   "[]",
		"capabilities":   "Basic Install",
		"categories":     "Networking, OpenShift Optional",
		"containerImage": images[0].Image,
		"createdAt":      created.Format(time.RFC3339),
		"description":    summary,
		"repository":     repository,
		"support":        "Community",
		"operatorframework.io/suggested-namespace":  "oooi-system",
		"operators.openshift.io/valid-subscription": "[]",
	}
	for _, feature := range []string{"disconnected", "fips-compliant", "proxy-aware", "tls-profiles", "token-auth-aws", "token-auth-azure", "token-auth-gcp", "cnf", "cni", "csi"} {
		out["features.operators.openshift.io/"+feature] = "false"
	}
	return out
}

// description is the text in the catalog. Its table of annotations is the one that
// the operator uses.
func description() string {
	var b strings.Builder
	b.WriteString(summary + `

## One annotation

A hosted cluster opts in with the annotation ` + "`" + settings.Prefix + "network=auto`" + ` on its HostedCluster. A condition of the HostedCluster reports the result:

    oc annotate hostedcluster/blue -n clusters ` + settings.Prefix + `network=auto
    oc wait --for=condition=` + settings.Prefix + `NetworkReady hostedcluster/blue -n clusters

Everything runs in the cluster's control plane namespace, without privileges, and is removed with it. oooi defines no custom resource.

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

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
