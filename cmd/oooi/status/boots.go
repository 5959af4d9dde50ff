// This file reports VMs that boot for the first time, and the boot steps of one VM. It is pure.

package status

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// boots returns the VMs of n that edges report as booting for the first time. A report lists at most reported.MaxBoots
// VMs, and counts further ones that are not nodes yet. Result omitted is the largest of these counts.
func (f Facts) boots(n network.Network) (out []Boot, omitted int) {
	var reports []reported.EdgeReport
	for _, e := range n.Edges {
		if r, ok := f.Reports[wire.EdgeReportLease(n, e).Name]; ok && f.ReadyEdge(n, e) != explain.No {
			reports, omitted = append(reports, r), max(omitted, r.BootsOmitted)
		}
	}
	steps := n.BootSteps()
	for _, b := range reported.BootsOf(n, reports) {
		_, missing := b.Steps(steps)
		shown := Boot{VM: b.VM, Since: b.Since.UTC(), Missing: missing, Late: b.Late, Steps: []BootStep{}}
		for _, s := range steps {
			step := BootStep{Step: s}
			if at := b.At(s); !at.IsZero() {
				step.Seen = new(at.UTC())
			}
			shown.Steps = append(shown.Steps, step)
		}
		out = append(out, shown)
	}
	return out, omitted
}

// last returns the last step that an edge saw, and its time. If no edge saw a step, result step is empty, and result at
// is b.Since.
func (b Boot) last() (step network.BootStep, at time.Time) {
	at = b.Since
	for _, s := range b.Steps {
		if s.Seen != nil {
			step, at = s.Step, *s.Seen
		}
	}
	return step, at
}

func stepTitle(s network.BootStep) string {
	switch s {
	case "":
		return "runs"
	case network.BootDiscover:
		return "DHCPDISCOVER"
	case network.BootName:
		return "name of Ignition"
	case network.BootIgnition:
		return "Ignition"
	case network.BootAPI:
		return "API server"
	}
	return string(s)
}

// bootTable writes the VMs that are not nodes yet. If there are more than manyRows and parameter all is false, it lists
// at most manyRows: those that are late.
func (n Network) bootTable(w io.Writer, all bool) {
	var rows, late [][]string
	for _, b := range n.Boots {
		if b.Missing == "" {
			continue
		}
		step, at := b.last()
		row := []string{b.VM, stepTitle(step), at.Format(time.RFC3339), stepTitle(b.Missing)}
		if rows = append(rows, row); b.Late {
			late = append(late, row)
		}
	}
	longTable(w, "VM THAT BOOTS\tLAST STEP\tAT\tMISSING", all, rows, late, fmt.Sprintf("%d VMs boot, %d of them late", len(rows), len(late)))
	if n.BootsOmitted > 0 {
		command.Line(w, "  Further VMs that boot, which edges do not list: %d.", n.BootsOmitted)
	}
}

// ofVM returns r with only the leases and the boots of the VM with this name. Its text is about this VM.
func (r Output) ofVM(name string) Output {
	other := func(l statusLease) bool { return l.VM != name }
	r.vm, r.Other, r.Networks = name, slices.DeleteFunc(slices.Clone(r.Other), other), slices.Clone(r.Networks)
	for i := range r.Networks {
		n := &r.Networks[i]
		n.Boots = slices.DeleteFunc(slices.Clone(n.Boots), func(b Boot) bool { return b.VM != name })
		n.Leases = slices.DeleteFunc(slices.Clone(n.Leases), other)
	}
	return r
}

// knowsVM reports whether r, a result of ofVM, has something about its VM. It is also true if something could not be
// read, because that may be about the VM.
func (r Output) knowsVM() bool {
	return len(r.Unread) > 0 || len(r.Other) > 0 || slices.ContainsFunc(r.Networks, func(n Network) bool { return len(n.Boots)+len(n.Leases) > 0 }) ||
		slices.ContainsFunc(r.Problems, func(p statusProblem) bool { return slices.Contains(p.Args["newVMs"], r.vm) })
}

func (r Output) vmText(w io.Writer) {
	command.Line(w, "HostedCluster %s: VM %s", r.Cluster, r.vm)
	for _, n := range r.Networks {
		command.Line(w, "")
		command.Line(w, "Network %s", n.Name)
		for _, b := range n.Boots {
			_, at := b.last()
			rows := [][]string{{stepTitle(""), b.Since.Format(time.RFC3339)}}
			for _, s := range b.Steps {
				seen := "not seen"
				switch {
				case s.Seen != nil:
					seen = s.Seen.Format(time.RFC3339)
				case s.Step == b.Missing:
					seen = "missing since " + at.Format(time.RFC3339)
				}
				rows = append(rows, []string{stepTitle(s.Step), seen})
			}
			table(w, "STEP\tFIRST SEEN", rows)
		}
		if len(n.Boots) == 0 {
			command.Line(w, "  No edge reports its boot. Edges report VMs that had no lease when the edge started, up to two minutes late.")
		}
		n.leaseText(w, true)
	}
	for _, p := range r.Problems {
		if slices.Contains(p.Args["newVMs"], r.vm) {
			command.Line(w, "")
			p.text(w)
		}
	}
	for _, u := range r.Unread {
		command.Line(w, "  %s", u)
	}
}
