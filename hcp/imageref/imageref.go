// Package imageref reads references to images as nodes do: which registry they dial, and which entries of policy.json apply.
package imageref

import (
	"slices"
	"strings"
)

// PlainHTTP begins a registry whose clients do not use TLS.
const PlainHTTP = "http://"

// dockerHub is the registry that clients dial for docker.io.
const dockerHub = "registry-1.docker.io"

// Registry returns the registry of an image or mirror: host in lower case, optional port, and PlainHTTP before it if
// it is not TLS.
func Registry(image string) string {
	image = strings.TrimPrefix(image, "https://")
	rest, plain := strings.CutPrefix(image, PlainHTTP)
	registry, _, _ := strings.Cut(rest, "/")
	registry = strings.ToLower(registry)
	if plain {
		return PlainHTTP + registry
	}
	return registry
}

// Tag returns the tag of image, or "" if it has none.
func Tag(image string) string {
	image, _, _ = strings.Cut(image[strings.LastIndex(image, "/")+1:], "@")
	_, tag, _ := strings.Cut(image, ":")
	return tag
}

// Dialed returns the registry that nodes dial for an image or mirror (dockerRegistry in containers/image,
// docker/docker_client.go). The format is that of Registry.
func Dialed(image string) string {
	if r := Registry(image); r != "docker.io" && r != "index.docker.io" {
		return r
	}
	return dockerHub
}

// Redirects returns the hosts to which a registry that clients dial redirects them for layers and signatures. Empty:
// oooi does not know the registry. The sources are "Configuring your firewall" in OpenShift's documentation
// (openshift-docs modules/configuring-firewall.adoc, 4.20), for Red Hat's registries
// https://access.redhat.com/node/7001746, and for Docker Hub https://docs.docker.com/desktop/setup/allow-list/.
func Redirects(registry string) []string {
	quay := []string{"cdn.quay.io", "cdn01.quay.io", "cdn02.quay.io", "cdn03.quay.io", "cdn04.quay.io", "cdn05.quay.io", "cdn06.quay.io"}
	switch registry {
	case "quay.io":
		return quay
	case "registry.redhat.io", "registry.access.redhat.com":
		return append(quay, "access.redhat.com")
	case "registry.connect.redhat.com":
		return []string{"oso-rhc4tp-docker-registry.s3-us-west-2.amazonaws.com", "rhc4tp-prod-z8cxf-image-registry-us-east-1-evenkyleffocxqvofrk.s3.dualstack.us-east-1.amazonaws.com"}
	case dockerHub:
		return []string{"auth.docker.io", "docker-images-prod.6aa30f8b08e16409b46e0173d6de2f56.r2.cloudflarestorage.com", "production.cloudflare.docker.com", "production.cloudfront.docker.com"}
	}
	return nil
}

// IsRepository reports whether scope is the repository of image: only its tag or digest follows.
func IsRepository(scope, image string) bool {
	rest, ok := strings.CutPrefix(image, scope)
	return ok && strings.Contains(scope, "/") && rest != "" && strings.ContainsAny(rest[:1], ":@")
}

// Covers reports whether scope, an entry of policy.json, applies to image (containers-policy.json(5), docker:). A scope
// is a registry, with its namespace, repository or tag, or "*." and the parent domain of a registry.
func Covers(scope, image string) bool {
	registry := Registry(image)
	_, path, _ := strings.Cut(image, "/")
	scope, image = strings.ToLower(scope), registry+"/"+path
	if parent, ok := strings.CutPrefix(scope, "*."); ok {
		host, _, _ := strings.Cut(strings.TrimPrefix(registry, PlainHTTP), ":")
		return strings.HasSuffix(host, "."+parent)
	}
	rest, ok := strings.CutPrefix(image, scope)
	further := "/" // What follows a registry.
	if strings.Contains(scope, "/") {
		further = "/:@"
	}
	return ok && (rest == "" || strings.ContainsAny(rest[:1], further))
}

// Scopes are entries of policy.json. However many there are, Cover takes the same time.
type Scopes struct {
	// all has the scopes in lower case, and longest is the length of the longest one.
	all     map[string]bool
	longest int
}

// NewScopes returns the Scopes that are listed.
func NewScopes(list []string) Scopes {
	s := Scopes{all: map[string]bool{}}
	for _, scope := range list {
		s.all[strings.ToLower(scope)] = true
		s.longest = max(s.longest, len(scope))
	}
	return s
}

// Cover reports whether one of s applies to image, as Covers does.
func (s Scopes) Cover(image string) bool {
	registry := Registry(image)
	host, _, _ := strings.Cut(strings.TrimPrefix(registry, PlainHTTP), ":")
	for i := range len(host) {
		if host[i] == '.' && s.all["*"+host[i:]] {
			return true
		}
	}
	_, path, _ := strings.Cut(image, "/")
	image = registry + "/" + path
	inPath := false
	for i := range min(len(image), s.longest+1) {
		// Only a "/" follows a registry.
		if (image[i] == '/' || inPath && (image[i] == ':' || image[i] == '@')) && s.has(image[:i]) {
			return true
		}
		inPath = inPath || image[i] == '/'
	}
	return s.has(image)
}

func (s Scopes) has(name string) bool { return s.all[name] && !strings.HasPrefix(name, "*.") }

// Replacements returns the images in "name=image,name=image", without those of the names in except.
func Replacements(list string, except ...string) []string {
	var out []string
	for entry := range strings.SplitSeq(list, ",") {
		if name, image, ok := strings.Cut(entry, "="); ok && !slices.Contains(except, strings.TrimSpace(name)) {
			out = append(out, strings.TrimSpace(image))
		}
	}
	return out
}
