// Package version reports which build of a program runs.
package version

import (
	"crypto/fips140"
	"fmt"
	"regexp"
	"runtime/debug"
)

// built is the version that the linker sets (-X github.com/cldmnky/oooi/version.built=v1.2.3).
var built string

// Of returns the version of the running program, and whether it is in FIPS 140-3 mode.
func Of() string {
	mode := "off"
	if fips140.Enabled() {
		mode = "on"
	}
	return fmt.Sprintf("%s (FIPS 140-3 mode %s, module %s)", Number(), mode, fips140.Version())
}

// Tag returns the git tag of the running release. Empty: it is not a release.
func Tag() string { return tagOf(Number()) }

func tagOf(n string) string {
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.?\d+)?$`).MatchString(n) {
		return ""
	}
	return n
}

// Number returns the version alone, never empty: the linker's, else the module's, else the revision.
func Number() string {
	if built != "" {
		return built
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "devel"
}
