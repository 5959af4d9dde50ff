package resources

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		memory, files uint64
		want          Limits
	}{
		"nothing is known":         {0, 0, Limits{20_000, 2_000, 0}},
		"the pod of an edge":       {2560 << 20, 1 << 20, Limits{20_000, 574, 1920 << 20}},
		"less than that":           {1536 << 20, 1 << 20, Limits{20_000, 247, 1152 << 20}},
		"half of its memory":       {768 << 20, 1 << 20, Limits{10_059, 106, 576 << 20}},
		"less memory":              {512 << 20, 1 << 20, Limits{6_204, 65, 384 << 20}},
		"few files":                {1536 << 20, 20_000, Limits{9_872, 354, 1152 << 20}},
		"very few files":           {0, 1_024, Limits{384, 38, 0}},
		"less than Envoy needs":    {64 << 20, 100, Limits{2, 2, 48 << 20}},
		"more than a number holds": {1 << 62, 1 << 62, Limits{20_000, 2_000, 3 << 60}},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(NewLimits(c.memory, c.files)).To(Equal(c.want)) })
	}
}

// TestLimitsKeepToTheMemory: for any limits of memory and of file descriptors, there is room for all connections and for two sources that
// use both of their shares.
func TestLimitsKeepToTheMemory(t *testing.T) {
	for memory := uint64(128 << 20); memory < 8<<30; memory += 32 << 20 {
		for _, files := range []uint64{0, 1_024, 20_000, 1 << 20} {
			l := NewLimits(memory, files)
			for _, full := range []uint32{l.Share(true) + l.Share(true), l.Share(false)} {
				most := ownMemory + uint64(l.Connections)*usualMemory + fullSources*uint64(full)*WorstMemory
				if most > memory {
					t.Errorf("%d MiB, %d files: %+v take %d MiB", memory>>20, files, l, most>>20)
				}
			}
		}
	}
}
