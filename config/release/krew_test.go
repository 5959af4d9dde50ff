package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// TestKrew: krew finds the archive of each platform on the release's page, its sum is right, and it has the program.
func TestKrew(t *testing.T) {
	g := NewWithT(t)
	in := fixture(t)
	out, err := assemble(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	var p struct {
		APIVersion, Kind string
		Metadata         map[string]string
		Spec             struct {
			Version, Homepage, ShortDescription, Description string
			Platforms                                        []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, SHA256, Bin string
			}
		}
	}
	g.Expect(yaml.UnmarshalStrict(out.files["assets/oooi.krew.yaml"], &p)).To(Succeed())
	g.Expect(p.Spec.Version).To(MatchRegexp(`^v\d+\.\d+\.\d+`))
	g.Expect(p.Spec.Platforms).To(HaveLen(5))
	platforms := map[string]bool{}
	for _, x := range p.Spec.Platforms {
		g.Expect(x.URI).To(HavePrefix("https://github.com/cldmnky/oooi/releases/download/" + in.version + "/"))
		file := out.files["assets/"+path.Base(x.URI)]
		g.Expect(path.Base(x.URI)).To(Equal("oooi_" + x.Selector.MatchLabels["os"] + "_" + x.Selector.MatchLabels["arch"] + ".tar.gz"))
		g.Expect(x.SHA256).To(Equal(fmt.Sprintf("%x", sha256.Sum256(file))))
		unzipped, err := gzip.NewReader(bytes.NewReader(file))
		g.Expect(err).NotTo(HaveOccurred())
		var names []string
		for r := tar.NewReader(unzipped); ; {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			g.Expect(err).NotTo(HaveOccurred())
			names = append(names, h.Name)
		}
		g.Expect(names).To(ContainElement(x.Bin))
		g.Expect(x.Bin == "oooi.exe").To(Equal(x.Selector.MatchLabels["os"] == "windows"))
		platforms[x.Selector.MatchLabels["os"]+"/"+x.Selector.MatchLabels["arch"]] = true
	}
	for _, want := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"} {
		g.Expect(platforms).To(HaveKey(want))
	}
}
