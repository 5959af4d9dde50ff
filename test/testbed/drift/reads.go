// This file finds in oooi's source what oooi reads from HyperShift's objects.

package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A reads contains what oooi reads.
type reads struct {
	fields []string       // such as "nodepool.spec.clusterName", from package hcp/lenient
	names  *regexp.Regexp // finds the name of an object, a constant of the API, or a field in a line of code
}

var (
	constant = regexp.MustCompile(`(?m)^(?:const)?\s+([A-Z]\w*)(?:\s+\w+)?\s*=\s*"`)
	kindOf   = regexp.MustCompile(`(?m)^func (hostedCluster|nodePool)Kind\(`)
	field    = regexp.MustCompile(`"((?:spec|status)\.[^"]+)",`)
	used     = regexp.MustCompile(`hyperv1\.[A-Z]\w*|"[a-z0-9]+(?:[-./][a-z0-9]+)+[-/]?"`) // names of objects have at least two words
)

// readIn returns what the source below root reads of the API in directory api.
func readIn(root, api string) (reads, error) {
	types, err := readTree(filepath.Join(api, "hypershift"))
	if err != nil {
		return reads{}, err
	}
	source, err := readTree(filepath.Join(root, "hcp"))
	if err != nil {
		return reads{}, err
	}
	constants := map[string]bool{}
	for _, text := range types {
		for _, c := range constant.FindAllStringSubmatch(text, -1) {
			constants["hyperv1."+c[1]] = true
		}
	}
	var r reads
	var names []string
	for file, text := range source {
		for line := range strings.SplitSeq(text, "\n") {
			for _, name := range used.FindAllString(code(line), -1) {
				if constants[name] {
					names = append(names, regexp.QuoteMeta(name)+`\b`)
				} else if name[0] == '"' {
					names = append(names, regexp.QuoteMeta(strings.TrimSuffix(name, `"`)))
				}
			}
		}
		if file == "lenient/fields.go" {
			r.fields = fieldsIn(text)
		}
	}
	for _, f := range r.fields {
		parts := strings.Split(f, ".")
		if strings.HasSuffix(f, ".platform.type") {
			continue // All code of a platform contains this name.
		}
		names = append(names, `(?i:\.`+strings.Join(parts[len(parts)-2:], `\.`)+`\b)`)
	}
	slices.Sort(names)
	r.names = regexp.MustCompile(strings.Join(slices.Compact(names), "|"))
	return r, nil
}

// fieldsIn returns the fields that the text of hcp/lenient/fields.go lists for HyperShift's kinds.
func fieldsIn(text string) (fields []string) {
	for _, at := range kindOf.FindAllStringSubmatchIndex(text, -1) {
		body, _, _ := strings.Cut(text[at[1]:], "\n}")
		for _, f := range field.FindAllStringSubmatch(body, -1) {
			fields = append(fields, strings.ToLower(text[at[2]:at[3]])+"."+strings.ReplaceAll(f[1], "[]", ""))
		}
	}
	return fields
}
