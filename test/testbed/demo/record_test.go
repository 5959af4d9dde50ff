package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestRecordingIsWhatWasPrinted: the lines of a recording are its header and the writes, in order, with their times.
func TestRecordingIsWhatWasPrinted(t *testing.T) {
	g := NewWithT(t)
	var out, cast bytes.Buffer
	at := time.Unix(0, 0)
	r, err := newRecorder(&out, &cast, "make demo", func() time.Time { return at })
	g.Expect(err).NotTo(HaveOccurred())
	at = at.Add(1500 * time.Millisecond)
	_, err = r.Write([]byte("one\ntwo\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.String()).To(Equal("one\ntwo\n"), "what is printed")

	lines := strings.Split(strings.TrimSpace(cast.String()), "\n")
	g.Expect(lines).To(HaveLen(2))
	var header map[string]any
	g.Expect(json.Unmarshal([]byte(lines[0]), &header)).To(Succeed())
	g.Expect(header).To(And(HaveKeyWithValue("version", 2.0), HaveKeyWithValue("title", "make demo")))
	var event []any
	g.Expect(json.Unmarshal([]byte(lines[1]), &event)).To(Succeed())
	g.Expect(event).To(Equal([]any{1.5, "o", "one\r\ntwo\r\n"}))
}
