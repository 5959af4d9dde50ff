package leasefile_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp/leasefile"
	"github.com/cldmnky/oooi/network"
)

// TestStoredLeases: a server reads the leases that the release before wrote. The file has a lease, and one that was removed.
func TestStoredLeases(t *testing.T) {
	g := NewWithT(t)
	stored, err := os.ReadFile("testdata/leases-1")
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(dir, "leases"), stored, 0o600)).To(Succeed())
	f, err := leasefile.Open(dir)
	g.Expect(err).NotTo(HaveOccurred())
	l, ok := f.At(netip.MustParseAddr("192.168.100.20"))
	g.Expect(ok).To(BeTrue())
	l.Version = ""
	g.Expect(l).To(Equal(network.Lease{Address: netip.MustParseAddr("192.168.100.20"), MAC: "02:00:00:00:00:01", VM: "blue-worker-1",
		Expires: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), LeaseTime: network.Duration(time.Hour)}))
	_, ok = f.At(netip.MustParseAddr("192.168.100.21"))
	g.Expect(ok).To(BeFalse())
	g.Expect(f.Close()).To(Succeed())
	written, err := os.ReadFile(filepath.Join(dir, "leases"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(stored)).To(HavePrefix(string(written[:len(written)-len("= 00000000\n")])), "the lease is written as before")
}
