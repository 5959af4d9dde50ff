// This file writes the page of all commands and flags from the commands themselves.

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/test/golden"
)

// TestGoldenCommands: docs/commands.md has each command and its flags, as --help prints them.
func TestGoldenCommands(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Commands\n\nThe command `oooi`, also as `kubectl oooi`. `make golden` writes this page from the commands.\n")
	b.WriteString("\n## Exit codes\n\nAll commands have the same exit codes. `oooi access -- COMMAND` has those of the command.\n\n| exit code | meaning |\n| --- | --- |\n")
	for _, e := range command.ExitMeanings() {
		fmt.Fprintf(&b, "| %d | %s |\n", e.Code, e.Meaning)
	}
	b.WriteString("\n## Width\n\nText for people is wrapped at the width of the terminal, and help at 80 columns. A pipe gets whole lines, so that `grep` finds whole sentences, " +
		"unless the environment variable `COLUMNS` is set. Rows of tables, and findings of `oooi lint`, are never wrapped.\n")
	for _, c := range command.New(subcommands()...).Commands() {
		writeCommand(&b, c)
	}
	golden.Check(t, filepath.Join("..", "..", "docs", "commands.md"), []byte(b.String()))
}

func writeCommand(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## oooi %s\n\n%s.\n\n%s", c.Name(), c.Short, indented("oooi "+c.Use))
	if c.Long != "" {
		fmt.Fprintf(b, "\n%s", indented(c.Long))
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\nExamples:\n\n%s", indented(c.Example))
	}
	if flags := command.Wrap(c.LocalFlags().FlagUsages(), 80); flags != "" {
		fmt.Fprintf(b, "\nFlags:\n\n%s", indented(flags))
	}
}

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
