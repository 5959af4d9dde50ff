package formats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// stored are the files of one format by their names.
func stored(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files: %v", dir, err)
	}
	out := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(file)] = string(text)
	}
	return out
}

// TestStatuses: a status that each release stored is read with all that it says.
func TestStatuses(t *testing.T) {
	all := map[string]explain.StoredStatus{
		"1.json": {
			Version: 1, Cluster: "clusters/blue", Written: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Generation: 3,
			Settings: "01234567", Inputs: "0123456789abcdef", Plan: "fedcba9876543210", Ready: true, Reason: explain.ReadyWithWarnings, Boots: explain.Yes,
			Summary:  "Nodes can boot: DHCP, DNS, NTP and proxy are ready on network clusters/vlan100 (192.168.100.0/24) (1 of 2 edges).",
			Problems: []explain.StoredProblem{{Severity: network.SeverityWarning, Reason: network.EdgeUnavailable, Text: "Edge 2 is not ready. Check its node."}}, Omitted: 2,
		},
	}
	files := stored(t, "testdata/statuses")
	NewWithT(t).Expect(files).To(HaveLen(len(all)), "each file is a format")
	for file, want := range all {
		g := NewWithT(t)
		s, err := explain.ReadStatus([]byte(files[file]))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(s).To(Equal(want))
		g.Expect(s.JSON()).To(MatchJSON(files[file]), "the format of now only adds fields")
	}
}

// TestStatusOfANewerVersion: it is an error, and not read in part. Fields that are not known, and an answer of a newer version, do no harm.
func TestStatusOfANewerVersion(t *testing.T) {
	g := NewWithT(t)
	text := stored(t, "testdata/statuses")["1.json"]
	read := func(former, latter string) (explain.StoredStatus, error) {
		g.Expect(text).To(ContainSubstring(former))
		return explain.ReadStatus([]byte(strings.Replace(text, former, latter, 1)))
	}
	_, err := read(`"version": 1`, `"version": 2`)
	g.Expect(err).To(MatchError(ContainSubstring("version 2")))
	for _, none := range []string{`"version": 0`, `"version": "1"`} {
		_, err = read(`"version": 1`, none)
		g.Expect(err).To(MatchError(ContainSubstring("not a status")))
	}
	s, err := read(`"boots": "yes"`, `"boots": "perhaps", "later": {"x": 1}`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Boots).To(Equal(explain.Unknown))
}

// TestPlans: a plan that each release stored is read, and valid. What each means is tested in package network.
func TestPlans(t *testing.T) {
	for file, text := range stored(t, "../../network/testdata/plans") {
		g := NewWithT(t)
		p, err := network.ReadPlan([]byte(text))
		g.Expect(err).NotTo(HaveOccurred(), file)
		g.Expect(p.Validate()).To(Succeed(), file)
	}
}
