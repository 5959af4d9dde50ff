// This file finds the registries that nodes dial, and networks whose VMs reach or resolve none of them.

package external

import (
	"net/netip"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/imageref"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/reach"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// maxRegistries limits the registries of one cluster. HyperShift's API allows 65,025 mirrors.
const maxRegistries = 256

// releaseImages returns the release images, sorted: those that are set in specs, those that the control plane runs, and those to which it is being updated.
func releaseImages(o objects.Objects) []string {
	images := []string{o.HostedCluster.Spec.Release.Image}
	if r := o.HostedCluster.Spec.ControlPlaneRelease; r != nil && pullsControlPlaneOperator(o.HostedCluster) {
		images = append(images, r.Image)
	}
	for _, np := range o.NodePools {
		images = append(images, np.Spec.Release.Image)
	}
	if v := o.HostedCluster.Status.Version; v != nil {
		for _, update := range v.History { // newest first
			if images = append(images, update.Image); update.State == configv1.CompletedUpdate {
				break
			}
		}
	}
	slices.Sort(images)
	return images
}

// imageRegistries returns the registries of the release images, then their mirrors, then the registries of other images
// of nodes, without duplicates and at most maxRegistries. left is the number of registries beyond maxRegistries, which
// are left out.
func imageRegistries(o objects.Objects) (registries []string, left int) {
	images := releaseImages(o)
	for _, source := range o.HostedCluster.Spec.ImageContentSources {
		images = append(images, source.Mirrors...)
	}
	images = append(append(images, nodeImages(o)...), catalogs(o.HostedCluster))
	seen := map[string]bool{"": true}
	for _, image := range images {
		registry := imageref.Dialed(image)
		if seen[registry] {
			continue
		}
		seen[registry] = true
		registries = append(registries, registry)
	}
	most := min(len(registries), maxRegistries)
	return registries[:most], len(registries) - most
}

// dialedForImages returns what nodes dial to pull images: for each registry, the HTTP proxy that nodes use for it, or
// else the registry.
func dialedForImages(o objects.Objects, own reach.Set) (out []string) {
	registries, _ := imageRegistries(o)
	for _, at := range registries {
		if proxy := own.ProxyFor(at); proxy != nil {
			at = reach.Dialed(proxy)
		}
		out = append(out, at)
	}
	return out
}

// ImageHosts returns the registries and HTTP proxies that nodes dial, as destinations.
func ImageHosts(o objects.Objects, own reach.Set) []string {
	all := dialedForImages(o, own)
	for _, proxy := range reach.Proxies(o.HostedCluster) {
		all = append(all, reach.Dialed(proxy))
	}
	return all
}

// namesUnresolved returns a problem for each network in reach.Set.OwnNamesOnly without the names of registries.
// Parameter all says what nodes reach with external hosts.
func namesUnresolved(o objects.Objects, all reach.Set) (ps problem.Problems) {
	mirrored := mirroredRegistries(o, all)
	hosts := reach.WithoutScheme(network.Without(dialedForImages(o, all), func(at string) bool { return all.Located(at) || mirrored[at] }))
	slices.Sort(hosts)
	for _, s := range all.OwnNamesOnly() {
		if len(hosts) > 0 {
			ps = append(ps, s.Problem(problem.ImageNamesUnresolved, problem.Args{"hosts": slices.Compact(slices.Clone(hosts))}, network.KeyUpstreams, network.KeyAllowedHosts, network.KeyRecords))
		}
	}
	return ps
}

// insideManagement returns a problem if VMs boot from networks with a gateway only, and nodes pull images from Services
// of the management cluster, to which no gateway leads. If a source has other mirrors, nodes use these.
func insideManagement(o objects.Objects, in network.Request, own reach.Set) problem.Problems {
	if !reach.HasPrimary(in) || own.Isolated() {
		return nil
	}
	known := map[string]bool{}
	inside := func(image string) bool {
		registry := imageref.Dialed(image)
		if _, again := known[registry]; !again {
			host, _ := reach.HostPort(registry)
			known[registry] = settings.InCluster(host) && !own.Reaches(registry)
		}
		return known[registry]
	}
	images, sources := nodeImages(o), o.HostedCluster.Spec.ImageContentSources
	if !slices.ContainsFunc(sources, mirrorsRelease) {
		images = append(images, releaseImages(o)...)
	}
	for _, s := range sources {
		if !slices.ContainsFunc(s.Mirrors, func(m string) bool { return !inside(m) }) {
			images = append(images, s.Mirrors...)
		}
	}
	var hosts []string
	for _, image := range images {
		if inside(image) {
			hosts = append(hosts, imageref.Dialed(image))
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	slices.Sort(hosts)
	args := problem.Args{"hosts": reach.WithoutScheme(slices.Compact(hosts))}
	return problem.Problems{problem.New(problem.RegistryInManagementCluster, problem.Subject{}, args, "spec.release.image", "spec.imageContentSources")}
}

// mirroredRegistries returns the registries of images with another source or mirror whose address edges have.
func mirroredRegistries(o objects.Objects, all reach.Set) map[string]bool {
	out, known := map[string]bool{}, map[string]bool{}
	elsewhere := func(registry string) bool {
		if _, again := known[registry]; !again {
			known[registry] = all.Located(registry) || all.Proxied(registry)
		}
		return known[registry]
	}
	for _, s := range o.HostedCluster.Spec.ImageContentSources {
		registries := []string{imageref.Dialed(s.Source)}
		for _, m := range s.Mirrors {
			registries = append(registries, imageref.Dialed(m))
		}
		if slices.ContainsFunc(registries, elsewhere) {
			for _, registry := range registries {
				out[registry] = true
			}
		}
	}
	return out
}

// noRegistry returns a problem for each network whose VMs certainly reach no registry. registries are those that objects
// name. Parameter all says what nodes reach with external hosts. A router might forward to a registry at an IP address.
func noRegistry(o objects.Objects, registries []string, all reach.Set) (ps problem.Problems) {
	var hosts []string
	for _, registry := range registries {
		if reach.IsAddress(registry) || all.Reaches(registry) {
			return nil
		}
		hosts = append(hosts, strings.TrimPrefix(registry, imageref.PlainHTTP))
	}
	if len(hosts) == 0 || slices.ContainsFunc(all.Endpoints, mayBeMirror) || mayReachMore(o.HostedCluster) {
		return nil
	}
	slices.Sort(hosts)
	for _, s := range all.In.Networks {
		pool := func(np hyperv1.NodePool) bool { return slices.Contains(s.NodePools, np.Name) && poolMayReachMore(np) }
		if closed(s) && len(s.NodePools) > 0 && !slices.ContainsFunc(o.NodePools, pool) {
			ps = append(ps, s.Problem(problem.NoRegistryReachable, problem.Args{"hosts": slices.Compact(hosts)},
				"spec.release.image", network.KeyAllowedHosts, network.KeyRecords, network.KeyGateway))
		}
	}
	return ps
}

// mayBeMirror reports whether e may be a mirror that no object names as one.
func mayBeMirror(e network.Endpoint) bool {
	return e.Origin == network.OriginRegistry || e.Origin == network.OriginService
}

// closed reports whether edges are the only source of addresses, names and connections of VMs that boot from s.
func closed(s network.NetworkRequest) bool {
	return reach.IsIsolated(s) && reach.OwnNamesOnly(s) && len(s.Settings.Records) == 0 &&
		s.Settings.Selects(network.ServiceDHCP) && s.Settings.Selects(network.ServiceProxy)
}

// mayReachMore reports whether nodes may reach registries in ways that networks do not show. Possible ways are an HTTP
// proxy, a router that advertises IPv6, or VMs that the user patches.
func mayReachMore(hc *hyperv1.HostedCluster) bool {
	proxy := hc.Spec.Configuration != nil && hc.Spec.Configuration.Proxy != nil
	inside := slices.Concat(objects.PodAndServiceNetworks(hc), objects.MachineNetworks(hc))
	return proxy || hc.Annotations[hyperv1.JSONPatchAnnotation] != "" || slices.ContainsFunc(inside, func(p netip.Prefix) bool { return p.Addr().Is6() })
}

// poolMayReachMore reports the same as mayReachMore for the nodes of one NodePool. spec.config may add mirrors, hosts
// or routes, and the disk may contain images.
func poolMayReachMore(np hyperv1.NodePool) bool {
	k := np.Spec.Platform.Kubevirt
	if k == nil || len(k.AdditionalNetworks) != 1 || k.AttachDefaultNetwork == nil || *k.AttachDefaultNetwork {
		return true
	}
	disk := k.RootVolume != nil && k.RootVolume.Image != nil && k.RootVolume.Image.ContainerDiskImage != nil
	return disk || len(np.Spec.Config) > 0 || np.Annotations[hyperv1.JSONPatchAnnotation] != ""
}
