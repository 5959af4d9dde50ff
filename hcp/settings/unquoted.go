// This file explains annotations in files whose values are not strings, such as an unquoted number.

package settings

import (
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network/problem"
)

// Unquoted returns a problem for each annotation of oooi whose value in a file is not a string. keys are the
// annotations with such values, of any project. annotations has the values as text.
func Unquoted(at Place, object string, annotations map[string]string, keys []string) problem.Problems {
	var out problem.Problems
	for _, full := range slices.Sorted(slices.Values(keys)) {
		name, ours := strings.CutPrefix(full, Prefix)
		if _, set := annotations[full]; !ours || !set {
			continue
		}
		out = append(out, problem.New(problem.AnnotationNotString, subject(at, object), problem.Args{"value": {annotations[full]}}, name))
	}
	return out
}
