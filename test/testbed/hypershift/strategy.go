// This file decides how a hosted cluster's services are published: with flags of HyperShift's command line or, where it has no flag, with
// changes to the objects that it renders.
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

	"github.com/cldmnky/oooi/test/testbed/ocp"
)

// A Strategy is a way to publish the API server, Ignition, OAuth and konnectivity.
type Strategy string

const (
	LoadBalancerIP   Strategy = "lb-ip"    // API: load balancer without a host name; others: Routes in the management cluster's domain
	LoadBalancerName Strategy = "lb-name"  // API: load balancer with a host name; others: Routes with host names
	NodePort         Strategy = "nodeport" // all four: node ports
	Route            Strategy = "route"    // all four: Routes with host names
)

// Strategies returns all strategies, in the order of the documentation.
func Strategies() []Strategy { return []Strategy{LoadBalancerIP, LoadBalancerName, NodePort, Route} }

// Validate returns an error unless s is one of Strategies.
func (s Strategy) Validate() error {
	if slices.Contains(Strategies(), s) {
		return nil
	}
	return fmt.Errorf("publishing strategy %q: want one of %v", s, Strategies())
}

// rendered reports whether the objects must be rendered, changed and applied, because the command line has no flag for this strategy.
func (s Strategy) rendered() bool { return s == LoadBalancerName || s == Route }

// services returns spec.services of a HostedCluster with names in domain. It returns nil if the command line writes the right ones.
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

// rewrite returns render, the objects of the command line, as the command line would apply them, but with other services in the HostedCluster.
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
		if o.GetKind() != "Namespace" { // `hypershift destroy` finds the Secrets by this label.
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

// plain returns v with only the types that unstructured content may contain.
func plain(v []any) []any {
	b, err := yaml.Marshal(v)
	if err != nil {
		panic(err) // Never: these are maps of strings.
	}
	var out []any
	if err := yaml.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}

// parse returns the objects in YAML documents, except empty ones.
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

// createArgs returns the arguments for `hypershift create cluster kubevirt`, without flags for files.
func createArgs(o HostedClusterOptions) []string {
	args := []string{
		"create", "cluster", "kubevirt", "--name", o.Name, "--namespace", Namespace, "--release-image", ocp.ReleaseImage,
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
