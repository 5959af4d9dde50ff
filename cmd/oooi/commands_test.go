// This file writes the page of all commands and flags from the commands themselves.

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/test/golden"
)

const (
	commandsIntroduction = "# Commands\n\nThis page lists all commands of `oooi`, which also runs as `kubectl oooi`, with examples and flags. `oooi COMMAND --help` explains a command.\n" +
		"Most users need only [`check`](#oooi-check), [`status`](#oooi-status) and [`plan`](#oooi-plan). `oooi admission` and `oooi manager` run only in containers.\n" +
		"`make golden` writes this page from the commands.\n\n" +
		"In a terminal, `oooi` wraps text at the width of the terminal. In a pipe, `oooi` does not wrap text, so that `grep` finds whole sentences. To wrap text in a pipe, set the environment variable `COLUMNS`.\n"
	permissionsIntroduction = "With these flags of the operator, the administrator of the management cluster limits what HostedClusters may request. Each value is a list, or `none`.\n" +
		"[install.md](install.md#permissions) shows how to set the environment variables with OLM. Give `oooi check`, `oooi lint` and `oooi plan` the same values.\n"
)

// TestGoldenCommands: docs/commands.md has each command, the most used first, and each flag. A flag with one meaning in several
// commands is explained once.
func TestGoldenCommands(t *testing.T) {
	commands := command.New(subcommands()...).Commands()
	first := []string{"check", "status", "plan"}
	rank := func(c *cobra.Command) int {
		switch i := slices.Index(first, c.Name()); {
		case c.Hidden:
			return len(first) + 1
		case i < 0:
			return len(first)
		default:
			return i
		}
	}
	slices.SortStableFunc(commands, func(a, b *cobra.Command) int { return rank(a) - rank(b) })
	shared, permissions := sharedFlags(commands)
	var b strings.Builder
	b.WriteString(commandsIntroduction + "\n## Exit codes\n\nAll commands use these exit codes. `oooi access -- COMMAND` returns the exit code of COMMAND. `oooi lint` returns 2 for any finding, and never 3.\n\n| exit code | meaning |\n| --- | --- |\n")
	for _, e := range command.ExitMeanings() {
		fmt.Fprintf(&b, "| %d | %s |\n", e.Code, e.Meaning)
	}
	for _, c := range commands {
		writeCommand(&b, c, shared, permissions)
	}
	fmt.Fprintf(&b, "\n## Shared flags\n\nEach of these flags has the same meaning in every command that has it.\n\n%s", usages(shared))
	fmt.Fprintf(&b, "\n## Permissions\n\n%s\n%s", permissionsIntroduction, usages(permissions))
	golden.Check(t, filepath.Join("..", "..", "docs", "commands.md"), []byte(b.String()))
}

// sharedFlags returns the flags that several commands have with one meaning, and of these the permissions in a set of their own.
func sharedFlags(commands []*cobra.Command) (shared, permissions *pflag.FlagSet) {
	shared, permissions = pflag.NewFlagSet("", 0), pflag.NewFlagSet("", 0)
	of := map[string]int{}
	for _, c := range commands {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if of[f.Name+" "+f.Usage]++; of[f.Name+" "+f.Usage] != 2 {
				return
			}
			if slices.ContainsFunc(settings.PermissionFlags(), func(p settings.PermissionFlag) bool { return p.Flag == f.Name }) {
				permissions.AddFlag(f)
				return
			}
			shared.AddFlag(f)
		})
	}
	return shared, permissions
}

func writeCommand(b *strings.Builder, c *cobra.Command, shared, permissions *pflag.FlagSet) {
	fmt.Fprintf(b, "\n## oooi %s\n\n%s.\n\n%s", c.Name(), c.Short, indented("oooi "+c.Use))
	if c.Hidden { // Its help is in no user's terminal.
		fmt.Fprintf(b, "\n%s", indented(c.Long))
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\nExamples:\n\n%s", indented(c.Example))
	}
	own, elsewhere, permits := pflag.NewFlagSet("", 0), []string{}, false
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case permissions.Lookup(f.Name) != nil:
			permits = true
		case shared.Lookup(f.Name) != nil && shared.Lookup(f.Name).Usage == f.Usage:
			elsewhere = append(elsewhere, "`--"+f.Name+"`")
		default:
			own.AddFlag(f)
		}
	})
	if own.HasFlags() {
		fmt.Fprintf(b, "\nFlags:\n\n%s", usages(own))
	}
	if permits {
		elsewhere = append(elsewhere, "and the [permissions](#permissions)")
	}
	if len(elsewhere) > 0 {
		fmt.Fprintf(b, "\n[Shared flags](#shared-flags): %s.\n", strings.Join(elsewhere, ", "))
	}
}

// usages explains flags.
func usages(flags *pflag.FlagSet) string { return indented(command.Wrap(flags.FlagUsages(), 80)) }

// indented is text as a block of code, without the margin that all its lines share.
func indented(text string) string {
	lines, margin := strings.Split(strings.TrimRight(text, "\n"), "\n"), len(text)
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
		if lines[i] != "" {
			margin = min(margin, len(line)-len(strings.TrimLeft(line, " ")))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		if line != "" {
			b.WriteString("    " + line[margin:])
		}
		b.WriteString("\n")
	}
	return b.String()
}
