// This file writes the manifest with which krew installs the command line program as a plugin of kubectl.

package main

import (
	"crypto/sha256"
	"fmt"

	"github.com/cldmnky/oooi/config/release/program"
)

// addKrew adds krew's manifest, which refers to the archives on the release's page. A release in a registry other than the
// project's has no such page, so addKrew does nothing for it.
func (r *release) addKrew() error {
	if r.registry != namespace {
		return nil
	}
	type platform struct {
		program.Target
		Sum, Bin string
	}
	var platforms []platform
	for _, t := range archiveTargets() {
		sum := sha256.Sum256(r.files[assets+"oooi_"+t.String()+".tar.gz"])
		platforms = append(platforms, platform{t, fmt.Sprintf("%x", sum), commandFile(t)})
	}
	text, err := fill("krew.tmpl", map[string]any{"version": r.version, "platforms": platforms})
	r.files[assets+"oooi.krew.yaml"] = text
	return err
}
