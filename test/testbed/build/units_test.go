// This file measures the compiling that a machine with an empty Go cache has to do, and holds that it does not grow.

package build

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/compile"
	"github.com/cldmnky/oooi/test/testbed/host"
)

// atMost is what all programs together may have to compile. When the modules under modules/ had no versions in common,
// it was 10,180 packages with 510 MB of Go.
var atMost = compile.Units{Packages: 7350, Bytes: 317e6}

// TestCompileUnits counts the packages that are compiled for all programs, and the bytes of Go in them. OOOI_COMPILE runs
// it: it downloads all modules. $OOOI_COMPILE_TABLE is a file for the table.
func TestCompileUnits(t *testing.T) {
	if os.Getenv("OOOI_COMPILE") == "" {
		t.Skip("OOOI_COMPILE is not set")
	}
	g := NewWithT(t)
	root, err := host.ProjectDir()
	g.Expect(err).NotTo(HaveOccurred())
	var counter compile.Counter
	var all compile.Units
	var modules []string
	rows := map[string]compile.Units{}
	for _, p := range programs() {
		args := p.arguments()
		added, err := counter.Add(t.Context(), compile.Build{Dir: filepath.Join(root, "test/testbed/modules", p.module), Flags: args[1 : len(args)-1], Env: p.environment(), Package: p.pkg})
		g.Expect(err).NotTo(HaveOccurred(), p.name)
		if _, ok := rows[p.module]; !ok {
			modules = append(modules, p.module)
		}
		rows[p.module], all = rows[p.module].Plus(added), all.Plus(added)
	}
	rows["all"], rows["at most"] = all, atMost
	var table strings.Builder
	table.WriteString("| module | packages to compile after the rows above | MB of Go |\n| --- | --- | --- |\n")
	for _, m := range append(modules, "all", "at most") {
		fmt.Fprintf(&table, "| %s | %d | %.1f |\n", filepath.Base(m), rows[m].Packages, float64(rows[m].Bytes)/1e6)
	}
	t.Log("\n" + table.String())
	if file := os.Getenv("OOOI_COMPILE_TABLE"); file != "" {
		g.Expect(os.WriteFile(file, []byte(table.String()), 0o600)).To(Succeed())
	}
	g.Expect(all.Packages).To(BeNumerically("<=", atMost.Packages), "choose versions that other modules have, or accept the number here")
	g.Expect(all.Bytes).To(BeNumerically("<=", atMost.Bytes), "choose versions that other modules have, or accept the number here")
}
