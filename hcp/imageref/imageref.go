// Package imageref reads references to images as nodes do: which registry they dial, and which entries of policy.json apply.
package imageref

import "strings"

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

// Replacements returns the images in "name=image,name=image".
func Replacements(list string) []string {
	var out []string
	for entry := range strings.SplitSeq(list, ",") {
		if _, image, ok := strings.Cut(entry, "="); ok {
			out = append(out, strings.TrimSpace(image))
		}
	}
	return out
}
