package main

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/config/release/supply"
)

// TestImageRuns: nothing but what is in the image is there, and its user runs its entrypoint.
func TestImageRuns(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to change the root directory")
	}
	g := NewWithT(t)
	in := fixture(t)
	out, err := programsOf(in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.images).To(HaveLen(len(supply.Commands())))
	for _, p := range out.images {
		index, err := p.Index.IndexManifest()
		g.Expect(err).NotTo(HaveOccurred())
		i := slices.IndexFunc(index.Manifests, func(d v1.Descriptor) bool { return d.Platform.Architecture == runtime.GOARCH })
		single, err := p.Index.Image(index.Manifests[i].Digest)
		g.Expect(err).NotTo(HaveOccurred())
		config, err := single.ConfigFile()
		g.Expect(err).NotTo(HaveOccurred())
		dir := t.TempDir()
		g.Expect(os.Chmod(dir, 0o755)).To(Succeed())
		unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", dir)
		unpack.Stdin = mutate.Extract(single)
		g.Expect(unpack.Run()).To(Succeed())
		var said bytes.Buffer
		g.Expect(config.Config.User).To(Equal("65532:65532"))
		run := exec.Cmd{Path: config.Config.Entrypoint[0], Args: config.Config.Entrypoint, Env: config.Config.Env, Dir: "/", Stderr: &said,
			SysProcAttr: &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}}
		g.Expect(run.Run()).To(Succeed())
		g.Expect(said.String()).To(Equal(p.name + " " + in.version + "\n"))
	}
}

// TestImageHoldsLegalTexts: the operator's image has our license, and the texts of what is linked into it.
func TestImageHoldsLegalTexts(t *testing.T) {
	g := NewWithT(t)
	linked, err := supply.Linked(root, "linux", "amd64", "./cmd/oooi")
	g.Expect(err).NotTo(HaveOccurred())
	std, err := supply.StandardLibrary()
	g.Expect(err).NotTo(HaveOccurred())
	files := legal(root+"/LICENSE", linked, std)
	g.Expect(files).To(HaveKey("licenses/LICENSE"))
	for _, m := range append(linked, std) {
		var has bool
		for path := range files {
			has = has || strings.HasPrefix(path, "licenses/third-party/"+m.Path+"@"+m.Version+"/")
		}
		g.Expect(has).To(BeTrue(), m.Path)
	}
}
