package source

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/manifest"
)

// TestArchivesOfEachFormat: an archive of each release is read: its time, what was not read then, and its objects. Reports of edges and
// logs are not objects.
func TestArchivesOfEachFormat(t *testing.T) {
	g := NewWithT(t)
	scheme, err := NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	dirs, err := filepath.Glob(filepath.Join("..", "..", "..", "test", "formats", "testdata", "archives", "*"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(dirs).To(HaveLen(ArchiveFormat))
	for _, dir := range dirs {
		a, faults, err := ReadArchive(nil, []string{dir}, manifest.Read, scheme)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(faults).To(BeEmpty())
		g.Expect(a.Index.Time).To(Equal(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)))
		g.Expect(a.Index.Version).To(HavePrefix("v0.1.0 "))
		g.Expect(a.Index.Unread).To(ContainElement(Unread{What: "data plane of edge clusters-blue/oooi-edge-1", Why: "it did not answer within 15s"}))
		g.Expect(a.Objects).To(HaveLen(1))
		var leases coordinationv1.LeaseList
		g.Expect(a.List(t.Context(), &leases, client.InNamespace("clusters-blue"), client.MatchingLabels(wire.NamedLabels(wire.NameDHCP)))).To(Succeed())
		g.Expect(leases.Items).To(HaveLen(1))
		g.Expect(a.List(t.Context(), &corev1.ServiceList{}, client.InNamespace("clusters-blue"))).To(Satisfy(apierrors.IsForbidden))
		g.Expect(a.List(t.Context(), &corev1.PodList{}, client.InNamespace("clusters-blue"))).To(Succeed(), "there was none")
	}
}

// TestHostileIndex: a directory that someone sent has a pipe, a link or an endless file in place of its index. Reading ends with an error.
func TestHostileIndex(t *testing.T) {
	scheme, err := NewScheme()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, plant := range map[string]func(file string) error{
		"a pipe": func(file string) error { return syscall.Mkfifo(file, 0o600) },
		"a link": func(file string) error { return os.Symlink("/etc/passwd", file) },
		"8 TiB": func(file string) error {
			return errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 8<<40))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, dir := NewWithT(t), t.TempDir()
			g.Expect(plant(filepath.Join(dir, IndexFile))).To(Succeed())
			_, _, err := ReadArchive(nil, []string{dir}, manifest.Read, scheme)
			g.Expect(err).To(HaveOccurred())
		})
	}
}
