// This file holds `oooi explain`, which prints what the catalogue of problems contains about a reason. It needs no cluster.

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/explain/meaning"
	"github.com/cldmnky/oooi/hcp/spelling"
	"github.com/cldmnky/oooi/network/problem"
)

func newExplainCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain [REASON]",
		Short: "Explain a reason of the condition NetworkReady, its causes, and how to fix them",
		Long: `Explains a reason that the condition NetworkReady, an Event, or another command
shows. Each cause follows with its severity, what happened, what it means, and
what to do. A value that depends on your cluster stands between angle brackets.
REASON can also be a cause. Without an argument, the command lists all reasons.`,
		Example: `  oooi explain AddressInUse
  oooi explain`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, r := range reasons() {
					command.Line(c.OutOrStdout(), "%s", r)
				}
				return nil
			}
			r, ok := reasonOf(args[0])
			if !ok {
				return unknownReason(args[0])
			}
			return explainReason(c.OutOrStdout(), r)
		},
	}
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return reasons(), cobra.ShellCompDirectiveNoFileComp
	}
	return c
}

func reasons() []string {
	var out []string
	for _, r := range explain.TrueReasons() {
		out = append(out, string(r.Reason))
	}
	for _, e := range problem.Catalogue() {
		out = append(out, string(e.Reason))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// reasonOf returns the reason with this name or, if there is none, the reason of the cause with this name. It ignores the
// case of letters. If there is neither a reason nor a cause, it returns false.
func reasonOf(name string) (problem.Reason, bool) {
	for _, r := range reasons() {
		if strings.EqualFold(r, name) {
			return problem.Reason(r), true
		}
	}
	for _, e := range problem.Catalogue() {
		if strings.EqualFold(string(e.Cause), name) {
			return e.Reason, true
		}
	}
	return "", false
}

func unknownReason(name string) error {
	names := reasons()
	for _, e := range problem.Catalogue() {
		names = append(names, string(e.Cause))
	}
	meant, ok := spelling.Nearest(name, names)
	if !ok {
		return fmt.Errorf("%s is not a reason. oooi explain lists all", command.Printable(name))
	}
	return fmt.Errorf("%s is not a reason. Did you mean %s?", command.Printable(name), meant)
}

func explainReason(w io.Writer, r problem.Reason) error {
	out := &strings.Builder{}
	command.Line(out, "%s", r)
	for _, t := range explain.TrueReasons() {
		if t.Reason == r {
			command.Line(out, "  The condition is True: %s.", t.Meaning)
		}
	}
	about := meaning.Of(r)
	if about.Text != "" {
		command.Line(out, "  %s", about.Text)
	}
	for _, e := range problem.Catalogue() {
		if e.Reason != r {
			continue
		}
		command.Line(out, "")
		command.Line(out, "  %s %s", e.Severity, e.Cause)
		m := explain.General(e, func(argument string) string { return "<" + argument + ">" })
		for _, text := range []string{m.What, m.Effect, m.Fix} {
			if text != "" {
				command.Line(out, "    %s", text)
			}
		}
	}
	if about.Page != "" {
		command.Line(out, "")
		command.Line(out, "See %s%s", command.Docs, about.Page)
	}
	return command.WriteText(w, out.String())
}
