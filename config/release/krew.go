// This file makes the manifest through which krew installs the command line program as a command of kubectl.

package main

import (
	"crypto/sha256"
	"fmt"

	"sigs.k8s.io/yaml"
)

// A krewPlugin is a manifest of krew (krew.googlecontainertools.github.com/v1alpha2).
type krewPlugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       krewSpec          `json:"spec"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector krewSelector `json:"selector"`
	URI      string       `json:"uri"`
	SHA256   string       `json:"sha256"`
	Bin      string       `json:"bin"`
}

type krewSelector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// addKrew adds the manifest for the archives on the release's page. A registry of your own has no such page.
func (r *release) addKrew() error {
	if r.registry != namespace {
		return nil
	}
	p := krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "oooi"},
		Spec: krewSpec{
			Version: r.version, Homepage: repository,
			ShortDescription: "Networks of hosted clusters on isolated VLANs",
			Description:      "Shows, checks and draws what oooi serves to the KubeVirt VMs of a HyperShift hosted cluster,\nand collects what a bug report needs. It reads with your rights.\n",
		},
	}
	for _, t := range archiveTargets() {
		name := "oooi_" + t.String() + ".tar.gz"
		p.Spec.Platforms = append(p.Spec.Platforms, krewPlatform{
			Selector: krewSelector{map[string]string{"os": t.OS, "arch": t.Arch}},
			URI:      repository + "/releases/download/" + r.version + "/" + name,
			SHA256:   fmt.Sprintf("%x", sha256.Sum256(r.files[assets+name])),
			Bin:      commandFile(t),
		})
	}
	text, err := yaml.Marshal(p)
	r.files[assets+"oooi.krew.yaml"] = text
	return err
}
