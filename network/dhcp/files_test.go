package dhcp_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/dhcp"
)

// TestFilesOutliveTheServer: leases are there after a restart, and an unreadable one
// blocks its address.
func TestFilesOutliveTheServer(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "leases")
	open := func() *dhcp.Files {
		f, err := dhcp.OpenFiles(dir)
		g.Expect(err).NotTo(HaveOccurred())
		return f
	}
	f := open()
	a, b, none := held("20", mac1, time.Hour), held("21", mac2, time.Hour), network.Lease{}
	g.Expect(f.Replace(t.Context(), none, a)).To(Succeed())
	g.Expect(f.Replace(t.Context(), none, b)).To(Succeed())
	g.Expect(f.Replace(t.Context(), none, held("20", mac2, time.Hour))).To(MatchError(fs.ErrExist))
	_, err := dhcp.OpenFiles(dir)
	g.Expect(err).To(MatchError(ContainSubstring("in use by another server")))
	longer := held("20", mac1, 2*time.Hour)
	g.Expect(f.Replace(t.Context(), a, longer)).To(Succeed())
	g.Expect(f.Remove(t.Context(), a)).To(Succeed(), "not as it is: left alone")
	g.Expect(f.Remove(t.Context(), b)).To(Succeed())
	g.Expect(f.Close()).To(Succeed())

	g.Expect(os.WriteFile(filepath.Join(dir, "192.168.100.30.json"), []byte(`{"addr`), 0o600)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, "README.json"), nil, 0o600)).To(Succeed())
	f = open()
	defer f.Close()
	of, _ := f.Of(mac1)
	g.Expect(of).To(Equal(longer))
	_, ok := f.Of(mac2)
	g.Expect(ok).To(BeFalse(), "removed")
	spoiled, ok := f.At(at("30"))
	g.Expect(ok).To(BeTrue())
	g.Expect(spoiled.Free(now.AddDate(100, 0, 0), time.Hour, false)).To(BeFalse())
}

// TestFilesOnAFullDisk: a failed write changes no lease.
func TestFilesOnAFullDisk(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "leases")
	f, err := dhcp.OpenFiles(dir)
	g.Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	g.Expect(os.RemoveAll(dir)).To(Succeed())
	g.Expect(f.Replace(t.Context(), network.Lease{}, held("20", mac1, time.Hour))).NotTo(Succeed())
	_, ok := f.Of(mac1)
	g.Expect(ok).To(BeFalse())
}
