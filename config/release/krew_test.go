package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// TestConsole: the downloads in OpenShift's console are the archives on the page of this release, and its links lead to this version.
func TestConsole(t *testing.T) {
	g := NewWithT(t)
	bundle, err := readBundle()
	g.Expect(err).NotTo(HaveOccurred())
	all, err := objects(root + "/config/console")
	g.Expect(err).NotTo(HaveOccurred())
	text, page := string(bytes.Join(all, []byte("---\n"))), repository+"/releases/download/v"+bundle.Version+"/"
	for _, t := range archiveTargets() {
		g.Expect(text).To(ContainSubstring("- href: " + page + "oooi_" + t.String() + ".tar.gz\n"))
	}
	g.Expect(strings.Count(text, "href: ")).To(Equal(len(archiveTargets())))
	links := regexp.MustCompile(regexp.QuoteMeta(repository)+`/(?:blob|releases/[a-z]+)/([^/)\s]+)`).FindAllStringSubmatch(text, -1)
	g.Expect(len(links)).To(BeNumerically(">", len(archiveTargets())))
	for _, link := range links {
		g.Expect(link[1]).To(Equal("v"+bundle.Version), link[0])
	}
}

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
	g.Expect(out.files).To(HaveKey("assets/console.yaml"))
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
