package operatorbench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
)

// operatorUser is the operator's ServiceAccount, as config/default has it.
const operatorUser = "system:serviceaccount:oooi-system:oooi"

// auditPolicy lets the API server write down each request of the operator.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: ["` + operatorUser + `"]}
- {level: None}
`

// auditFlags are those of an API server that writes the operator's requests to file.
func auditFlags(t *testing.T) (flags map[string]string, file string) {
	t.Helper()
	dir := t.TempDir()
	policy, file := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	NewWithT(t).Expect(os.WriteFile(policy, []byte(auditPolicy), 0o600)).To(Succeed())
	return map[string]string{"audit-policy-file": policy, "audit-log-path": file}, file
}

// A request is one of the operator's.
type request struct {
	Verb   string `json:"verb"`
	Stage  string `json:"stage"`
	Object struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
}

func (r request) String() string {
	resource := strings.TrimSuffix(r.Object.Resource+"/"+r.Object.Subresource, "/")
	return r.Verb + " " + resource
}

// isWrite reports whether r asks for a change.
func (r request) isWrite() bool { return !slices.Contains([]string{"get", "list", "watch"}, r.Verb) }

// asked are the requests since the position from in the file, and where they end. The election of
// a leader is left out: it costs the same however many clusters there are. A watch counts where it
// begins.
func (w *world) asked(t *testing.T, from int64) (all []request, end int64) {
	t.Helper()
	g := NewWithT(t)
	f, err := os.Open(w.audit)
	if os.IsNotExist(err) {
		return nil, from
	}
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = f.Close() }()
	_, err = f.Seek(from, io.SeekStart)
	g.Expect(err).NotTo(HaveOccurred())
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return all, from // A line without its end is read next time.
		}
		g.Expect(err).NotTo(HaveOccurred())
		from += int64(len(line))
		var r request
		g.Expect(json.Unmarshal(line, &r)).To(Succeed())
		election := r.Object.Resource == "leases" && r.Object.Namespace == "oooi-system"
		watching := r.Verb == "watch" && r.Stage == "ResponseComplete"
		if !election && !watching && (r.Stage != "ResponseStarted" || r.Verb == "watch") {
			all = append(all, r)
		}
	}
}

// until waits until the operator has sent no request for quiet, and returns those since from.
func (w *world) until(t *testing.T, from int64, quiet time.Duration) (all []request, end int64) {
	t.Helper()
	last := time.Now()
	NewWithT(t).Eventually(func() time.Duration {
		more, now := w.asked(t, from)
		if from = now; len(more) > 0 {
			all, last = append(all, more...), time.Now()
		}
		return time.Since(last)
	}, "10m", "100ms").Should(BeNumerically(">", quiet))
	return all, from
}

// writes are the requests that ask for a change.
func writes(all []request) []request {
	return slices.DeleteFunc(slices.Clone(all), func(r request) bool { return !r.isWrite() })
}

// ofStatuses are those about the statuses that the operator stores, and the others.
func ofStatuses(all []request) (statuses, others []request) {
	for _, r := range all {
		if r.Object.Resource == "configmaps" && r.Object.Name == wire.StatusConfigMap {
			statuses = append(statuses, r)
		} else {
			others = append(others, r)
		}
	}
	return statuses, others
}

// ofClusters are the requests about hosted clusters. The others are for what all clusters share, and
// for discovery.
func ofClusters(all []request) []request {
	return slices.DeleteFunc(slices.Clone(all), func(r request) bool { return r.Object.Namespace == "" || r.Object.Namespace == "oooi-system" })
}

// counts says how many requests of each kind there are: "3 patch configmaps, 1 get services".
func counts(all []request) string {
	n := map[string]int{}
	for _, r := range all {
		n[r.String()]++
	}
	var out []string
	for _, k := range slices.SortedFunc(maps.Keys(n), func(a, b string) int { return 2*(n[b]-n[a]) + strings.Compare(a, b) }) {
		out = append(out, fmt.Sprintf("%d %s", n[k], k))
	}
	return strings.Join(out, ", ")
}

// namespaces are those that requests name.
func namespaces(all []request) []string {
	seen := map[string]bool{}
	for _, r := range all {
		if r.Object.Namespace != "" {
			seen[r.Object.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
