// How a hosted cluster's services are published, as the command line that asks for it and the changes to its render where no flag can say it.
// It decides nothing that HyperShift decides.
package hypershift

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Strategy is how the API server and its companions are published.
type Strategy string

const (
	LoadBalancerIP   Strategy = "lb-ip"    // the API at a load balancer's address, the others by Routes of the management cluster's domain: the CLI's default
	LoadBalancerName Strategy = "lb-name"  // the API at a load balancer with a host name, the others by Routes with host names
	NodePort         Strategy = "nodeport" // all four at node ports
	Route            Strategy = "route"    // all four by Routes with host names
)

// Strategies are all there are, in the order of the documentation.
func Strategies() []Strategy { return []Strategy{LoadBalancerIP, LoadBalancerName, NodePort, Route} }

// Validate is an error for any other text than one of Strategies.
func (s Strategy) Validate() error {
	if slices.Contains(Strategies(), s) {
		return nil
	}
	return fmt.Errorf("publishing strategy %q: want one of %v", s, Strategies())
}

// rendered says whether the cluster must be rendered, changed and applied, because no flag of the CLI makes this strategy.
func (s Strategy) rendered() bool { return s == LoadBalancerName || s == Route }

// services is spec.services of a HostedCluster whose names are in domain; nil leaves what the CLI wrote.
func (s Strategy) services(domain string) []any {
	if !s.rendered() {
		return nil
	}
	entry := func(service, kind, field, host string) any {
		return values{"service": service, "servicePublishingStrategy": values{"type": kind, field: values{"hostname": host + "." + domain}}}
	}
	api := entry("APIServer", "Route", "route", "api")
	if s == LoadBalancerName {
		api = entry("APIServer", "LoadBalancer", "loadBalancer", "api")
	}
	return []any{
		api, entry("OAuthServer", "Route", "route", "oauth"), entry("Konnectivity", "Route", "route", "konnectivity"),
		entry("Ignition", "Route", "route", "ignition"),
	}
}

// rewrite is the CLI's render as its own apply would send it, with the HostedCluster's services replaced.
func rewrite(render []byte, services []any) ([]byte, error) {
	objects, err := parse(render)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "HostedCluster" })
	if i < 0 {
		return nil, errors.New("the render holds no HostedCluster")
	}
	if services != nil {
		if err := unstructured.SetNestedSlice(objects[i].Object, plain(services), "spec", "services"); err != nil {
			return nil, err
		}
	}
	infraID, _, _ := unstructured.NestedString(objects[i].Object, "spec", "infraID")
	var out bytes.Buffer
	for _, o := range objects {
		unstructured.RemoveNestedField(o.Object, "status")
		unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
		if o.GetKind() != "Namespace" { // by this label `destroy` finds the secrets again
			labels := o.GetLabels()
			if labels == nil {
				labels = map[string]string{}
			}
			labels["hypershift.openshift.io/auto-created-for-infra"] = infraID
			o.SetLabels(labels)
		}
		doc, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "---\n%s", doc)
	}
	return out.Bytes(), nil
}

// plain is v in the types that unstructured content may hold.
func plain(v []any) []any {
	b, err := yaml.Marshal(v)
	if err != nil {
		panic(err) // maps of strings
	}
	var out []any
	if err := yaml.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}

// parse reads YAML documents, empty ones left out.
func parse(manifest []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest))); ; {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(doc, &o.Object); err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// createArgs is the command line of `hypershift create cluster kubevirt`, without its flags for files.
func createArgs(o HostedClusterOptions) []string {
	args := []string{
		"create", "cluster", "kubevirt", "--name", o.Name, "--namespace", Namespace, "--release-image", releaseImage,
		"--network-type", "OVNKubernetes", "--etcd-storage-class", storageClass, "--etcd-storage-size", "1Gi", "--olm-disable-default-sources",
		"--node-pool-replicas", fmt.Sprint(o.Replicas),
	}
	if o.BaseDomain != "" {
		args = append(args, "--base-domain", o.BaseDomain)
	}
	if o.MachineCIDR.IsValid() {
		args = append(args, "--machine-cidr", o.MachineCIDR.String())
	}
	networks := o.networks()
	if len(networks) > 0 {
		args = append(args, "--attach-default-network="+fmt.Sprint(o.DefaultNetwork))
	}
	for _, n := range networks {
		args = append(args, "--additional-network", "name:"+n)
	}
	for _, key := range slices.Sorted(maps.Keys(o.Annotations)) {
		args = append(args, "--annotations", key+"="+o.Annotations[key])
	}
	if o.Strategy == NodePort {
		args = append(args, "--service-publishing-strategy", "NodePort")
	}
	if o.Strategy.rendered() {
		args = append(args, "--render", "--render-sensitive")
	}
	return append(args, o.Flags...)
}
