// Package version says which build of a program runs.
package version

import (
	"crypto/fips140"
	"fmt"
	"regexp"
	"runtime/debug"
)

// Of returns the version of the running program, and whether it is in FIPS 140-3 mode. The version
// is built, which the linker was told; without one, that of the module, else its revision.
func Of(built string) string {
	mode := "off"
	if fips140.Enabled() {
		mode = "on"
	}
	return fmt.Sprintf("%s (FIPS 140-3 mode %s, module %s)", Number(built), mode, fips140.Version())
}

// Tag returns the tag in git of the release that the running program is. Empty: it is no release. See Of for built.
func Tag(built string) string {
	n := Number(built)
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.?\d+)?$`).MatchString(n) {
		return ""
	}
	return n
}

// Number returns the version of the running program alone, as of a tag in git, or its revision. It is never empty. See Of for built.
func Number(built string) string {
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
