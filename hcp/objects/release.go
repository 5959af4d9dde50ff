// This file reads the release of OpenShift that a HostedCluster has. Operators of that release, not HyperShift's operator,
// read spec.operatorConfiguration (GetControlPlaneOperatorImage in support/util/util.go). HyperShift 0.1.80 runs releases
// 4.14 to 5.0. A release ignores fields that are newer than it.

package objects

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/imageref"
)

// A Release is a minor release of OpenShift, such as 4.20. The zero Release is unknown.
type Release struct{ major, minor int }

// Before reports whether r is known, and older than release 4.minor.
func (r Release) Before(minor int) bool {
	return r != (Release{}) && (r.major < 4 || r.major == 4 && r.minor < minor)
}

// Since reports whether r is known, and is release 4.minor or later.
func (r Release) Since(minor int) bool { return r != (Release{}) && !r.Before(minor) }

// NewerThan reports whether r and other are known, and r is the newer one. Release 5.0 is the same as 4.23, as in
// HyperShift (normalizeToV4 in support/supportedversion/version.go).
func (r Release) NewerThan(other Release) bool {
	minor := func(r Release) int { return 23*(r.major-4) + r.minor }
	return r != (Release{}) && other != (Release{}) && minor(r) > minor(other)
}

// ReleaseOf returns the release of an image, which is unknown without a tag.
func ReleaseOf(image string) Release { return releaseOf(imageref.Tag(image)) }

// String returns r as "4.20".
func (r Release) String() string { return fmt.Sprintf("%d.%d", r.major, r.minor) }

// Releases returns the release with which hc was or will be created, and the release that its control plane has now. A
// release is unknown if its image has a digest and no version, or if the user replaces its operators.
func Releases(hc *hyperv1.HostedCluster) (first, now Release) {
	if hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation] != "" {
		return first, now
	}
	var history []configv1.UpdateHistory // newest first
	if v := hc.Status.Version; v != nil {
		history = v.History
	}
	if len(history) == 0 {
		image := hc.Spec.Release.Image
		if r := hc.Spec.ControlPlaneRelease; r != nil {
			image = cmp.Or(r.Image, image)
		}
		history = []configv1.UpdateHistory{{Image: image}}
	}
	for i, h := range slices.Backward(history) {
		r := releaseOf(cmp.Or(h.Version, imageref.Tag(h.Image)))
		if i == len(history)-1 {
			first = r
		}
		now = cmp.Or(r, now)
	}
	return first, now
}

// releaseOf returns the release of a version such as 4.20.8-multi, or the zero Release.
func releaseOf(version string) Release {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	x, bad := strconv.ParseUint(major, 10, 8)
	y, bad2 := strconv.ParseUint(minor, 10, 8)
	if bad != nil || bad2 != nil || x < 4 {
		return Release{}
	}
	return Release{int(x), int(y)}
}
