// This file shows how references to images are read.

package catalog

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestRepository(t *testing.T) {
	for reference, want := range map[string]string{
		"ghcr.io/a/b:v1":                "ghcr.io/a/b",
		"ghcr.io/a/b@sha256:12":         "ghcr.io/a/b",
		"localhost:5000/b:v1@sha256:12": "localhost:5000/b",
		"localhost:5000/a/b":            "localhost:5000/a/b",
	} {
		NewWithT(t).Expect(Repository(reference)).To(Equal(want), reference)
	}
}
