// This file decides where nodes pull the images that a release names. Nodes never pull the release image itself:
// HyperShift reads it in the management cluster. It names images by digest, and a mirrored release names the same ones
// (extractImageReferences in ignition-server/controllers/local_ignitionprovider.go). HyperShift
// gives nodes only the mirrors in spec.imageContentSources, with digests only (support/globalconfig/imagecontentsource.go).
// spec.config of NodePools may add others.

package external

import (
	"cmp"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/imageref"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/reach"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// The repositories with the images that releases of OpenShift and of OKD name.
const (
	imagesOfOpenShift = "quay.io/openshift-release-dev/ocp-v4.0-art-dev"
	imagesOfOKD       = "quay.io/okd/scos-content"
	imagesOfOKDOnFCOS = "quay.io/openshift/okd-content"
)

// namedBy returns the repository with the images that release names. Empty: unknown.
func namedBy(release string) string {
	switch {
	case imageref.Covers("quay.io/openshift-release-dev", release):
		return imagesOfOpenShift
	case imageref.Covers("quay.io/okd", release):
		return imagesOfOKD
	case imageref.Covers("quay.io/openshift/okd", release):
		return imagesOfOKDOnFCOS
	}
	return ""
}

// A mirroredSource is a source of images that has mirrors.
type mirroredSource struct {
	// scope is a registry, namespace or repository, in lower case.
	scope string
	// reached is true if nodes reach a mirror among the registries of the cluster.
	reached bool
}

// mirroredSources returns the sources that have mirrors, the longest first: nodes use the longest one that covers an image
// (containers-registries.conf(5)).
func mirroredSources(o objects.Objects, registries []string, own reach.Set) []mirroredSource {
	reached, byScope := map[string]bool{}, map[string]bool{}
	for _, registry := range registries {
		reached[registry] = own.Reaches(registry)
	}
	for _, s := range o.HostedCluster.Spec.ImageContentSources {
		scope := strings.ToLower(s.Source)
		for _, m := range s.Mirrors {
			byScope[scope] = byScope[scope] || reached[imageref.Dialed(m)]
		}
	}
	var out []mirroredSource
	for scope, reached := range byScope {
		out = append(out, mirroredSource{scope, reached})
	}
	slices.SortFunc(out, func(a, b mirroredSource) int {
		return cmp.Or(cmp.Compare(len(b.scope), len(a.scope)), strings.Compare(a.scope, b.scope))
	})
	return out
}

// neededRegistries returns those of registries that nodes need: mirrors, and registries with images for which they reach
// no mirror. Nodes try all mirrors of a source, and then the source itself (newImageSource in containers/image), so a
// mirror that they do not reach is needed only if they reach no other one. The same is true of the source if annotation
// allowed-hosts names it: without that, a mirror shows that edges may not reach the source.
func neededRegistries(o objects.Objects, s settings.Values, registries []string, own reach.Set) []string {
	sources, needed := mirroredSources(o, registries, own), map[string]bool{}
	mirrored := func(repository string) bool {
		i := slices.IndexFunc(sources, func(s mirroredSource) bool { return imageref.Covers(s.scope, repository) })
		return i >= 0 && sources[i].reached
	}
	reached := map[string]bool{}
	for _, x := range sources {
		reached[x.scope] = x.reached
	}
	allowed := func(source string) bool {
		named := func(h settings.HostPort) bool {
			return h.String() == imageref.Dialed(source)+":443" || h.String() == imageref.Dialed(source)
		}
		return s.AllowedHosts != nil && slices.ContainsFunc(s.AllowedHosts.Hosts, named) && own.Directly(imageref.Dialed(source))
	}
	for _, x := range o.HostedCluster.Spec.ImageContentSources {
		optional := len(x.Mirrors) > 0 && (reached[strings.ToLower(x.Source)] || allowed(x.Source))
		for _, m := range x.Mirrors {
			if at := imageref.Dialed(m); !optional || own.Reaches(at) {
				needed[at] = true
			}
		}
	}
	for _, release := range releaseImages(o) {
		if !mirrored(namedBy(release)) {
			needed[imageref.Dialed(release)] = true
		}
	}
	for _, image := range nodeImages(o) {
		if repository, _, byDigest := strings.Cut(image, "@"); !byDigest || !mirrored(repository) {
			needed[imageref.Dialed(image)] = true
		}
	}
	return network.Without(registries, func(registry string) bool { return !needed[registry] })
}

// mirrorsRelease reports whether s has mirrors of the images that published releases name.
func mirrorsRelease(s hyperv1.ImageContentSource) bool {
	return len(s.Mirrors) > 0 && slices.ContainsFunc([]string{imagesOfOpenShift, imagesOfOKD, imagesOfOKDOnFCOS}, func(repository string) bool { return imageref.Covers(s.Source, repository) })
}

// unmirroredReleases returns a problem if a release is on another registry than the images that it probably names, no
// mirror has these, and nodes do not reach them. Parameter all says what nodes reach with external hosts. A registry
// that nodes do not reach has another problem. The problem is a hint if the user allows hosts, which may be the right
// ones, or if nodes may reach images in ways that networks do not show.
func unmirroredReleases(o objects.Objects, s settings.Values, all reach.Set) problem.Problems {
	origin := imageref.Registry(imagesOfOpenShift)
	if all.Reaches(origin) || slices.ContainsFunc(o.HostedCluster.Spec.ImageContentSources, mirrorsRelease) {
		return nil
	}
	var hosts []string
	for _, release := range releaseImages(o) {
		if registry := imageref.Dialed(release); registry != origin && registry != "" && all.Reaches(registry) {
			hosts = append(hosts, registry)
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	slices.Sort(hosts)
	p := problem.New(problem.ReleaseMayNameOthers, problem.Subject{},
		problem.Args{"hosts": slices.Compact(hosts), "repository": {imagesOfOpenShift}, "other": {origin}}, "spec.imageContentSources", network.KeyAllowedHosts)
	if s.AllowedHosts != nil && len(s.AllowedHosts.Hosts) > 0 || mayReachMore(o.HostedCluster) || slices.ContainsFunc(o.NodePools, poolMayReachMore) {
		p.Severity = problem.SeverityInfo
	}
	return problem.Problems{p}
}

// mirroredElsewhere returns a problem if the management cluster has mirrors of the images that releases name, and nodes
// have none, so that they pull from the origin. Parameter all says what nodes reach with external hosts. If annotation
// allowed-hosts names the origin, the user knows that edges reach it.
func mirroredElsewhere(o objects.Objects, s settings.Values, all reach.Set) problem.Problems {
	var repositories, origins []string
	for _, release := range releaseImages(o) {
		repository := namedBy(release)
		origin := imageref.Registry(repository)
		mirrored := func(source string) bool { return imageref.Covers(strings.ToLower(source), repository) }
		forNodes := func(s hyperv1.ImageContentSource) bool { return len(s.Mirrors) > 0 && mirrored(s.Source) }
		allowed := s.AllowedHosts != nil && slices.ContainsFunc(s.AllowedHosts.Hosts, func(h settings.HostPort) bool { return h.Host == origin })
		if repository != "" && slices.ContainsFunc(o.Management.Mirrored, mirrored) && !slices.ContainsFunc(o.HostedCluster.Spec.ImageContentSources, forNodes) &&
			all.Published(origin) && !all.Recorded(origin) && !allowed {
			repositories, origins = append(repositories, repository), append(origins, origin)
		}
	}
	if len(repositories) == 0 {
		return nil
	}
	args := problem.Args{"repository": slices.Compact(repositories), "other": slices.Compact(origins)}
	return problem.Problems{problem.New(problem.MirrorsNotForNodes, problem.Subject{}, args, "spec.imageContentSources", network.KeyAllowedHosts)}
}
