// This file decides which images nodes refuse, because of spec.configuration.image.registrySources.

package external

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/imageref"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/reach"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// RefusedImages returns problems if the nodes' policy refuses images that they need, on any network: OpenShift's
// machine-config-operator makes policy.json from registrySources (getValidBlockedAndAllowedRegistries). The policy
// sees the name of an image's source, even if a mirror provides the image. all says what edges forward to.
func RefusedImages(o objects.Objects, in network.Request, all reach.Set) (ps problem.Problems) {
	c := o.HostedCluster.Spec.Configuration
	if c == nil || c.Image == nil || !reach.HasPrimary(in) {
		return nil
	}
	policy := policyOf(c.Image.RegistrySources, releaseImages(o), o.HostedCluster.Spec.ImageContentSources)
	hosts, assumed := refusedReleases(o, policy), policy.refuses(imagesOfOpenShift) && unknownRelease(o)
	for _, s := range o.HostedCluster.Spec.ImageContentSources {
		if len(s.Mirrors) > 0 && policy.refusesSource(s.Source) {
			hosts = append(hosts, imageref.Registry(s.Source))
		}
	}
	if image := catalogs(o.HostedCluster); image != "" && policy.refuses(image) {
		ps = append(ps, problem.New(problem.CatalogsRefused, problem.Subject{}, problem.Args{"hosts": {imageref.Registry(image)}}, "spec.configuration.image.registrySources"))
	}
	for _, image := range nodeImages(o) {
		if image != "" && policy.refuses(image) {
			hosts = append(hosts, imageref.Registry(image))
		}
	}
	refused := func(hosts []string) problem.Problem {
		slices.Sort(hosts)
		return problem.New(problem.RegistriesRefused, problem.Subject{}, problem.Args{"hosts": slices.Compact(hosts)}, "spec.configuration.image.registrySources")
	}
	origin := imageref.Registry(imagesOfOpenShift)
	if assumed && all.Published(origin) { // The user allows the origin, although no release is there.
		hosts = append(hosts, origin)
	}
	guess := assumed && !slices.Contains(hosts, origin)
	if len(hosts) > 0 {
		ps = append(ps, refused(hosts))
	}
	if guess {
		p := refused([]string{origin})
		p.Severity = problem.SeverityInfo
		ps = append(ps, p)
	}
	return ps
}

// refusedReleases returns the registries of the images that releases name, if the policy refuses these images. If their
// repository is unknown, it may be any one that is allowed on the registry of the release.
func refusedReleases(o objects.Objects, policy nodePolicy) (hosts []string) {
	for _, release := range releaseImages(o) {
		image, onRegistry := namedBy(release), false
		if image == "" {
			image, onRegistry = release, policy.registries[imageref.Registry(release)]
		}
		if image != "" && policy.refuses(image) && !onRegistry {
			hosts = append(hosts, imageref.Registry(image))
		}
	}
	return hosts
}

// unknownRelease reports whether oooi does not know which images a release names, and no source mirrors those of OpenShift.
func unknownRelease(o objects.Objects) bool {
	unknown := func(release string) bool { return release != "" && namedBy(release) == "" }
	return slices.ContainsFunc(releaseImages(o), unknown) && !slices.ContainsFunc(o.HostedCluster.Spec.ImageContentSources, mirrorsRelease)
}

// A nodePolicy is what policy.json of nodes refuses.
type nodePolicy struct {
	// If onlyAllowed is true, nodes refuse all images that allowed does not cover, else those that blocked covers.
	onlyAllowed      bool
	allowed, blocked imageref.Scopes
	// scopes are those that allowed has, and registries their registries.
	scopes     []string
	registries map[string]bool
	releases   []string
}

// policyOf returns the policy that nodes with these releases have.
func policyOf(of configv1.RegistrySources, releases []string, sources []hyperv1.ImageContentSource) nodePolicy {
	scopes, blocked, all := of.AllowedRegistries, of.BlockedRegistries, imageref.NewScopes(of.BlockedRegistries)
	var spared []string
	for _, release := range releases {
		if !all.Cover(release) {
			continue
		}
		// The repository of the release is never blocked. Other repositories of its registry are, if it has mirrors.
		mirrored := slices.ContainsFunc(sources, func(s hyperv1.ImageContentSource) bool {
			return len(s.Mirrors) > 0 && imageref.Covers(s.Source, release)
		})
		blocked = network.Without(blocked, func(scope string) bool {
			exactly := imageref.IsRepository(scope, release)
			if mirrored && exactly {
				spared = append(spared, scope)
			}
			return imageref.Covers(scope, release) && (!mirrored || exactly)
		})
	}
	if len(scopes) == 0 && len(blocked) == 0 { // A repository that is spared alone is the only one that is allowed.
		scopes = spared
	}
	p := nodePolicy{onlyAllowed: len(scopes) > 0, allowed: imageref.NewScopes(scopes), blocked: imageref.NewScopes(blocked), scopes: scopes, registries: map[string]bool{}, releases: releases}
	for _, scope := range scopes {
		p.registries[imageref.Registry(scope)] = true
	}
	return p
}

func (p nodePolicy) refuses(image string) bool {
	return p.onlyAllowed && !p.allowed.Cover(image) || p.blocked.Cover(image)
}

// refusesSource reports whether nodes refuse all images of source. The repository of a release is never blocked.
func (p nodePolicy) refusesSource(source string) bool {
	within := func(scope string) bool { return imageref.Covers(source, scope) }
	ofRelease := slices.ContainsFunc(p.releases, func(image string) bool { return imageref.IsRepository(source, image) })
	return p.onlyAllowed && !p.allowed.Cover(source) && !slices.ContainsFunc(p.scopes, within) || !ofRelease && p.blocked.Cover(source)
}
