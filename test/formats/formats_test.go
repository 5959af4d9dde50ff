package formats

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
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

// TestStatuses: a status that the operator of each release stored is read with all that it says. The bytes of the current format are
// frozen: fields are only added to it.
func TestStatuses(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	edge := problem.Subject{Kind: "Edge", Namespace: "clusters-blue", Name: "oooi-edge-clusters-vlan100-2"}
	args := problem.Args{"network": {"clusters/vlan100"}, "services": {"DHCP, DNS"}, "command": {"kubectl -n clusters-blue describe pod -l hostedcluster.densityops.com/network=clusters.vlan100"}}
	want := explain.Report{
		Version: 1, Cluster: "clusters/blue", Build: "v0.1.0", Written: at, Generation: 3,
		Settings: "01234567", Inputs: "0123456789abcdef", Plan: "fedcba9876543210", Ready: true, Reason: explain.ReadyWithWarnings, Boots: explain.Yes,
		Summary: "Nodes can boot: DHCP, DNS, NTP and proxy are ready on network clusters/vlan100 (192.168.100.0/24) (1 of 2 edges).",
		Problems: []explain.ReportProblem{
			{Problem: problem.Problem{Severity: problem.SeverityError, Reason: problem.AnnotationInvalid, Cause: "ValueInvalid", Keys: []string{"gateway.b"}, Confined: true}, Text: "Annotation gateway.b is invalid."},
			{Problem: problem.New(problem.EdgePodNotReady, edge, args), Text: "Edge 2 is not ready. Check its pod."},
		},
		Omitted: 2, UnavailableEdges: []explain.UnavailableEdge{{Subject: edge, Since: at.Add(-time.Hour)}}, Notes: []string{"No external hosts are allowed."},
	}
	files := stored(t, "testdata/statuses")
	g := NewWithT(t)
	g.Expect(files).To(HaveLen(explain.CurrentReportVersion), "each file is a format")
	got, err := explain.ReadReport([]byte(files["1.json"]))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal(want))
	g.Expect(string(want.JSON())+"\n").To(Equal(files["1.json"]), "byte for byte")
}

// TestStatusOfANewerVersion: it is an error, and not read in part. Fields that are not known, and an answer of a newer version, do no harm.
func TestStatusOfANewerVersion(t *testing.T) {
	g := NewWithT(t)
	text := stored(t, "testdata/statuses")["1.json"]
	read := func(former, latter string) (explain.Report, error) {
		g.Expect(text).To(ContainSubstring(former))
		return explain.ReadReport([]byte(strings.Replace(text, former, latter, 1)))
	}
	_, err := read(`"version":1`, `"version":2`)
	g.Expect(err).To(MatchError(ContainSubstring("version 2")))
	for _, none := range []string{`"version":0`, `"version":"1"`} {
		_, err = read(`"version":1`, none)
		g.Expect(err).To(MatchError(ContainSubstring("not a report of the operator")))
	}
	s, err := read(`"boots":"yes"`, `"boots":"perhaps","later":{"x":1}`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Boots).To(Equal(explain.Unknown))
}

// TestLeases: the object of a DHCP lease is read, and an edge writes it again as it is, so that no lease is written at an update.
func TestLeases(t *testing.T) {
	at := time.Date(2026, 3, 4, 6, 6, 7, 0, time.UTC)
	var o coordinationv1.Lease
	g := NewWithT(t)
	g.Expect(json.Unmarshal([]byte(stored(t, "testdata/leases")["1.json"]), &o)).To(Succeed())
	l, err := leaseobject.Read(&o)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(l).To(Equal(network.Lease{
		Address: netip.MustParseAddr("192.168.100.20"), MAC: "02:00:00:00:00:01", VM: "blue-worker-1", Expires: at, LeaseTime: network.Duration(time.Hour)}))
	written := leaseobject.Of("clusters.vlan100", l, time.Hour, at.Add(-time.Hour))
	g.Expect([]any{written.Name, written.Labels, written.Annotations}).To(Equal([]any{o.Name, o.Labels, o.Annotations}))
	g.Expect(written.Spec.RenewTime.Equal(o.Spec.RenewTime)).To(BeTrue())
}

// TestDiagnostics: what an edge told of its data plane is read with all that it says.
func TestDiagnostics(t *testing.T) {
	g := NewWithT(t)
	d, err := wire.ReadDiagnostics([]byte(stored(t, "testdata/diagnostics")["1.json"]))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Program).To(HavePrefix("v0.1.0 "))
	g.Expect(d.Parts).To(HaveLen(3))
	g.Expect(string(d.Parts[0].Content)).To(ContainSubstring("02:00:00:00:00:01"))
	g.Expect(d.Parts[2]).To(Equal(wire.DiagnosticsPart{Name: "envoyListeners", Missing: "all of it: not read within 5s"}))
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
