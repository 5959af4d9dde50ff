// This file decides which of two objects is older. An older HostedCluster, NodePool or Service has precedence, so that
// a new one never takes its addresses or names.

package objects

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Older reports whether a was created before b. An object without a creation time does not exist yet, and is the
// youngest. If SameAge is true, namespace and name decide.
func Older(a, b metav1.Object) bool { return CompareAge(a, b) < 0 }

// SameAge reports whether creation times do not decide which of a and b is older.
func SameAge(a, b metav1.Object) bool { return compareCreation(a, b) == 0 }

// CompareAge returns a negative number if a is older than b. It returns 0 only if both have the same namespace and name.
func CompareAge(a, b metav1.Object) int {
	return cmp.Or(compareCreation(a, b), cmp.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName()))
}

func compareCreation(a, b metav1.Object) int {
	x, y := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	switch {
	case x.IsZero() && y.IsZero():
		return 0
	case x.IsZero():
		return 1
	case y.IsZero():
		return -1
	}
	return x.Compare(y.Time)
}
