// This file compares the schemas of fields in HyperShift's CustomResourceDefinitions.

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

var definition = regexp.MustCompile(`/zz_generated\.crd-manifests/(hostedcluster|nodepool)s-.*Default\.crd\.yaml$`)

// schemas returns the schema of each field of HostedClusters and NodePools, without descriptions, by the field's path.
func schemas(t tree) (map[string]string, error) {
	out, kinds := map[string]string{}, 0
	for file, text := range t {
		kind := definition.FindStringSubmatch(file)
		if kind == nil {
			continue
		}
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct{ OpenAPIV3Schema map[string]any }
				}
			}
		}
		if err := yaml.Unmarshal([]byte(text), &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, v := range crd.Spec.Versions {
			flatten(out, kind[1], v.Schema.OpenAPIV3Schema)
		}
		kinds++
	}
	if kinds != 2 {
		return nil, fmt.Errorf("%d CustomResourceDefinitions of HostedClusters and NodePools, and not 2", kinds)
	}
	return out, nil
}

// flatten adds the schemas of the fields below s to out, and removes them from s. Elements of a list have the path of the list.
func flatten(out map[string]string, path string, s map[string]any) {
	items, _ := s["items"].(map[string]any)
	for _, of := range []map[string]any{s, items} {
		members, _ := of["properties"].(map[string]any)
		for name, member := range members {
			if m, ok := member.(map[string]any); ok {
				flatten(out, path+"."+name, m)
			}
		}
		delete(of, "properties")
		delete(of, "description")
	}
	text, _ := json.Marshal(s) // Never an error: s was decoded from JSON.
	out[path] = string(text)
}

// comparedFields returns lines about changes of fields, and of the fields that contain them. It also names new fields next to
// them.
func comparedFields(fields []string, before, after tree) (lines []string, err error) {
	old, err := schemas(before)
	if err != nil {
		return nil, err
	}
	now, err := schemas(after)
	if err != nil {
		return nil, err
	}
	read, contains := map[string]bool{}, map[string]bool{}
	for _, f := range fields {
		for i := strings.LastIndex(f, "."); i > 0; i = strings.LastIndex(f, ".") {
			read[f], contains[f[:i]] = true, true
			f = f[:i]
		}
	}
	all := maps.Clone(old)
	maps.Copy(all, now)
	for _, f := range slices.Sorted(maps.Keys(all)) {
		switch o, n := old[f], now[f]; {
		case o == "" && contains[f[:max(0, strings.LastIndex(f, "."))]]:
			lines = append(lines, f+" is new: "+n)
		case read[f] && o != n:
			lines = append(lines, f, "  - "+o, "  + "+n)
		}
	}
	return lines, nil
}
