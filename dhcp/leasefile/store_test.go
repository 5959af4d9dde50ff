package leasefile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/dhcp/leasefile"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/dhcpmessages"
)

// stored returns the lease on an address, and whether there is one.
func stored(f *leasefile.Store, last string) (network.Lease, bool) {
	l, ok := f.At(dhcpmessages.At(last))
	return l.AsWritten(), ok
}

// TestFilesOutliveTheServer: leases exist after a restart, even if the server ended while it wrote others.
func TestFilesOutliveTheServer(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "leases")
	open := func() *leasefile.Store {
		f, err := leasefile.Open(dir)
		g.Expect(err).NotTo(HaveOccurred())
		return f
	}
	f := open()
	a, b, none := dhcpmessages.Held("20", dhcpmessages.MAC1, time.Hour), dhcpmessages.Held("21", dhcpmessages.MAC2, time.Hour), network.Lease{}
	g.Expect(f.Replace(t.Context(), none, a)).To(Succeed())
	g.Expect(f.Replace(t.Context(), none, b)).To(Succeed())
	g.Expect(f.Replace(t.Context(), none, dhcpmessages.Held("20", dhcpmessages.MAC2, time.Hour))).To(MatchError(fs.ErrExist))
	_, err := leasefile.Open(dir)
	g.Expect(err).To(MatchError(ContainSubstring("in use by another server")))
	longer := dhcpmessages.Held("20", dhcpmessages.MAC1, 2*time.Hour)
	a, _ = f.At(a.Address)
	b, _ = f.At(b.Address)
	g.Expect(f.Replace(t.Context(), a, longer)).To(Succeed())
	g.Expect(f.Remove(t.Context(), a)).To(Succeed(), "not as it is: left alone")
	g.Expect(f.Remove(t.Context(), b)).To(Succeed())
	g.Expect(f.Close()).To(Succeed())

	for what, torn := range map[string]string{
		"nothing":                           "",
		"half a line":                       "192.168.100.20 {\"addr",
		"lines without a checksum":          "192.168.100.20 \n192.168.100.22 {}\n",
		"zeros, and the end of the lines":   strings.Repeat("\x00", 90) + "}\n192.168.100.20 \n= 01234567\n",
		"the end of the lines, cut":         "192.168.100.20 \n= 0123",
		"a line that another batch follows": "192.168.100.20 {\"addr\n",
	} {
		spoil(t, dir, torn)
		f = open()
		of, _ := stored(f, "20")
		g.Expect(of).To(Equal(longer), what)
		_, ok := f.Of(dhcpmessages.MAC2)
		g.Expect(ok).To(BeFalse(), "removed")
		g.Expect(f.Close()).To(Succeed())
	}
}

// spoil appends text to the file of leases in dir.
func spoil(t *testing.T, dir, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "leases"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedFiles: a damaged record that is followed by other records may be any lease, so the server does not start.
func TestDamagedFiles(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	f, err := leasefile.Open(dir)
	g.Expect(err).NotTo(HaveOccurred())
	for _, last := range []string{"20", "21", "22"} {
		g.Expect(f.Replace(t.Context(), network.Lease{}, dhcpmessages.Held(last, "02:00:00:00:00:"+last, time.Hour))).To(Succeed())
	}
	g.Expect(f.Close()).To(Succeed())
	name := filepath.Join(dir, "leases")
	text, err := os.ReadFile(name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(name, bytes.Replace(text, []byte("192.168.100.21 "), []byte("192.168.100.29 "), 1), 0o600)).To(Succeed())
	_, err = leasefile.Open(dir)
	g.Expect(err).To(MatchError(ContainSubstring("is damaged from line 4 on")))
}

// TestEqualLeaseInFiles: the removal of a lease that was replaced by an equal one does nothing.
func TestEqualLeaseInFiles(t *testing.T) {
	g := NewWithT(t)
	f, err := leasefile.Open("")
	g.Expect(err).NotTo(HaveOccurred())
	l := dhcpmessages.Held("20", dhcpmessages.MAC1, time.Hour)
	g.Expect(f.Replace(t.Context(), network.Lease{}, l)).To(Succeed())
	was, _ := f.At(l.Address)
	g.Expect(f.Replace(t.Context(), was, l)).To(Succeed())
	g.Expect(f.Remove(t.Context(), was)).To(Succeed())
	_, ok := stored(f, "20")
	g.Expect(ok).To(BeTrue())
}

// TestWrongClock: a server that starts with a clock that is behind keeps the leases as they were written.
func TestWrongClock(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	f, err := leasefile.Open(dir)
	g.Expect(err).NotTo(HaveOccurred())
	l := network.Lease{Address: dhcpmessages.At("20"), MAC: dhcpmessages.MAC1, Expires: time.Now().UTC().Truncate(time.Second).Add(1000 * 24 * time.Hour)}
	g.Expect(f.Replace(t.Context(), network.Lease{}, l)).To(Succeed())
	g.Expect(f.Close()).To(Succeed())
	for _, c := range []struct {
		written time.Time
		want    time.Duration
	}{{time.Now().Add(999 * 24 * time.Hour), 1000 * 24 * time.Hour}, {time.Now(), 2 * network.LongestLeaseTime}} {
		g.Expect(os.Chtimes(filepath.Join(dir, "leases"), c.written, c.written)).To(Succeed())
		f, err = leasefile.Open(dir)
		g.Expect(err).NotTo(HaveOccurred())
		got, _ := stored(f, "20")
		g.Expect(got.Expires).To(BeTemporally("~", time.Now().Add(c.want), time.Minute))
		g.Expect(f.Close()).To(Succeed())
	}
}

// TestFilesTogether: of many concurrent writers of one address, exactly one succeeds each time. What was durable exists after a restart,
// even after the file was rewritten. The test runs alone: a program that another test starts keeps the lock of the closed file until its
// execve.
func TestFilesTogether(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	f, err := leasefile.Open(dir)
	g.Expect(err).NotTo(HaveOccurred())
	const writers, addresses, rounds = 32, 8, 450
	var wrote atomic.Int64
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range rounds {
				a := (w + i) % addresses
				was, _ := f.At(dhcpmessages.At(fmt.Sprint(20 + a)))
				next := dhcpmessages.Held(fmt.Sprint(20+a), fmt.Sprintf("02:00:00:00:%02x:%02x", w, a), time.Duration(i)*time.Minute)
				next.VM = strings.Repeat("worker-", 200)
				switch err := f.Replace(t.Context(), was, next); {
				case err == nil:
					wrote.Add(1)
				case !errors.Is(err, fs.ErrExist):
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	before := map[netip.Addr]network.Lease{}
	for a := range addresses {
		before[dhcpmessages.At(fmt.Sprint(20+a))], _ = f.At(dhcpmessages.At(fmt.Sprint(20 + a)))
	}
	g.Expect(wrote.Load()).To(BeNumerically(">", 1<<20/1400), "so many lines make a long file")
	g.Expect(f.Close()).To(Succeed())
	file, err := os.Stat(filepath.Join(dir, "leases"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(file.Size()).To(BeNumerically("<", 1<<20+64<<10), "most of what was written is of former leases")
	f, err = leasefile.Open(dir)
	g.Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	for a, l := range before {
		after, _ := f.At(a)
		g.Expect(after.AsWritten()).To(Equal(l.AsWritten()))
	}
}

// TestFilesOnAFullDisk: a failed write changes no lease, and the next one succeeds.
func TestFilesOnAFullDisk(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	f, err := leasefile.Open(dir)
	g.Expect(err).NotTo(HaveOccurred())
	var was, tooMuch unix.Rlimit
	g.Expect(unix.Getrlimit(unix.RLIMIT_FSIZE, &was)).To(Succeed())
	tooMuch = unix.Rlimit{Cur: 10, Max: was.Max}
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	g.Expect(unix.Setrlimit(unix.RLIMIT_FSIZE, &tooMuch)).To(Succeed())
	err = f.Replace(t.Context(), network.Lease{}, dhcpmessages.Held("20", dhcpmessages.MAC1, time.Hour))
	g.Expect(unix.Setrlimit(unix.RLIMIT_FSIZE, &was)).To(Succeed())
	g.Expect(err).To(MatchError(unix.EFBIG))
	_, ok := f.Of(dhcpmessages.MAC1)
	g.Expect(ok).To(BeFalse())
	g.Expect(f.Replace(t.Context(), network.Lease{}, dhcpmessages.Held("21", dhcpmessages.MAC1, time.Hour))).To(Succeed())
	g.Expect(f.Close()).To(Succeed())
	f, err = leasefile.Open(dir)
	g.Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	g.Expect(f.All()).To(HaveLen(1))
}

// TestNameOfTheFileIsDurable: no lease is granted before the directory with the file's name is flushed. Otherwise a crash could lose the
// file, and with it the lease.
func TestNameOfTheFileIsDurable(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "leases")
	f, err := leasefile.Open(dir)
	g.Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	g.Expect(os.Rename(dir, dir+".away")).To(Succeed(), "it can't be flushed")
	g.Expect(f.Replace(t.Context(), network.Lease{}, dhcpmessages.Held("20", dhcpmessages.MAC1, time.Hour))).To(MatchError(fs.ErrNotExist))
	_, ok := f.Of(dhcpmessages.MAC1)
	g.Expect(ok).To(BeFalse())
	g.Expect(os.Rename(dir+".away", dir)).To(Succeed())
	g.Expect(f.Replace(t.Context(), network.Lease{}, dhcpmessages.Held("20", dhcpmessages.MAC1, time.Hour))).To(Succeed())
}

// TestFilesTornAtAnyByte: a flush that is torn at any byte changes no lease, and the leases of former flushes are there.
func TestFilesTornAtAnyByte(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "leases")
	f, err := leasefile.Open(dir)
	g.Expect(err).NotTo(HaveOccurred())
	first, longer := dhcpmessages.Held("20", dhcpmessages.MAC1, time.Hour), dhcpmessages.Held("20", dhcpmessages.MAC1, 2*time.Hour)
	g.Expect(f.Replace(t.Context(), network.Lease{}, first)).To(Succeed())
	before, err := os.ReadFile(name)
	g.Expect(err).NotTo(HaveOccurred())
	was, _ := f.At(first.Address)
	g.Expect(f.Replace(t.Context(), was, longer)).To(Succeed())
	g.Expect(f.Close()).To(Succeed())
	whole, err := os.ReadFile(name)
	g.Expect(err).NotTo(HaveOccurred())
	for size := len(before); size <= len(whole); size++ {
		g.Expect(os.WriteFile(name, whole[:size], 0o600)).To(Succeed())
		f, err = leasefile.Open(dir)
		g.Expect(err).NotTo(HaveOccurred())
		want := first
		if size == len(whole) {
			want = longer
		}
		l, _ := stored(f, "20")
		g.Expect(l).To(Equal(want), "%d of %d bytes", size, len(whole))
		g.Expect(f.Close()).To(Succeed())
	}
}
