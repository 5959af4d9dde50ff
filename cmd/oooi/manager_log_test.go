package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
)

// A kindSource logs itself, as controller-runtime's do, and holds a function.
type kindSource struct{ Start func() }

func (kindSource) String() string { return "kind source: *v1.Node" }

// TestManagerLog: each line is one JSON object, whatever a library logs.
func TestManagerLog(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	log := managerLog(&out).WithValues("cluster", "clusters/blue")
	log.Info("starting", "source", kindSource{}, "other", struct{ F func() }{}, "networks", []string{"a"})
	log.Error(errors.New("refused"), "not applied")
	var lines []map[string]any
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var line map[string]any
		g.Expect(decoder.Decode(&line)).To(Succeed())
		lines = append(lines, line)
	}
	g.Expect(lines).To(HaveLen(2))
	g.Expect(lines[0]).To(And(HaveKeyWithValue("cluster", "clusters/blue"), HaveKeyWithValue("source", "kind source: *v1.Node"),
		HaveKeyWithValue("other", "struct { F func() }"), HaveKeyWithValue("networks", ConsistOf("a"))))
	g.Expect(lines[1]).To(And(HaveKeyWithValue("err", "refused"), HaveKeyWithValue("msg", "not applied")))
}
