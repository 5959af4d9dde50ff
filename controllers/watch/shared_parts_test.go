package watch

import (
	"reflect"
	"testing"

	. "github.com/onsi/gomega"
)

// TestPartsThatAreRememberedAreFew: parts of Deployments that are gone do not stay for ever.
func TestPartsThatAreRememberedAreFew(t *testing.T) {
	s := &sharedParts{}
	for i := range 2 * maxParts {
		part := []int{i}
		s.share(reflect.ValueOf(&part).Elem())
		NewWithT(t).Expect(part).To(Equal([]int{i}))
	}
	NewWithT(t).Expect(len(s.all)).To(BeNumerically("<=", maxParts))
}
