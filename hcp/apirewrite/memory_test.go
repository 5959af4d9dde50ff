// This file tests that what an answer makes the proxy keep has a limit, whatever the server sends.

package apirewrite_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/apirewrite"
)

// spaces is a text without an end. It gives up after a while.
type spaces struct{ left int }

func (s *spaces) Read(p []byte) (int, error) {
	n := min(len(p), s.left, 16<<10)
	for i := range p[:n] {
		p[i] = ' '
	}
	if s.left -= n; n == 0 {
		return 0, errors.New("all of it is kept")
	}
	return n, nil
}

// TestEndlessSpace: text between values has the same limit as a value.
func TestEndlessSpace(t *testing.T) {
	l, err := newLaw()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	const limit = 100_000
	for name, before := range map[string]string{
		"before the answer": "", "before the first item": `{"kind":"PodList","apiVersion":"v1","items":[`, "after an item": `{"kind":"PodList","apiVersion":"v1","items":[{}`,
	} {
		source := &spaces{left: 100 * limit}
		_, err := io.Copy(io.Discard, l.rules.Answer(io.MultiReader(strings.NewReader(before), source), apirewrite.Target{API: true}, limit))
		NewWithT(t).Expect(err).To(MatchError(apirewrite.ErrTooLarge), name)
		NewWithT(t).Expect(source.left).To(BeNumerically(">", 90*limit), name)
	}
}

// TestManyLists: an object with many members called items costs no more than another one.
func TestManyLists(t *testing.T) {
	g := NewWithT(t)
	costGrowsWithSize(t, "items", 1_000, func(lists int) {
		text := "{" + strings.Repeat(`"items":[],`, lists) + `"apiVersion":"internal.virt.example/v1"}`
		got, err := answered(t, strings.NewReader(text), apirewrite.Target{API: true})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got == strings.Replace(text, "internal.virt.example", "kubevirt.io", 1)).To(BeTrue())
	})
}

// TestLongSelector: a selector that is too long for a request is not parsed, which would need much memory, and not renamed.
func TestLongSelector(t *testing.T) {
	g := NewWithT(t)
	l, err := newLaw()
	g.Expect(err).NotTo(HaveOccurred())
	for size, renamed := range map[int]bool{4 << 10: true, 64 << 10: false, 3 << 20: false} {
		const key = "kubevirt.io/a"
		text := `{"apiVersion":"v1","selector":"` + key + strings.Repeat(",a", (size-len(key))/2) + `"}`
		_, memory := cost(t, func() {
			got, err := l.rules.Body("application/json", []byte(text), apirewrite.Target{}, apirewrite.ToServer)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strings.Contains(string(got), "internal.virt.example")).To(Equal(renamed), "%d bytes", size)
		})
		g.Expect(memory).To(BeNumerically("<", 16<<20), "%d bytes", size)
	}
}

// TestHeldBytes: an answer that waits for its reader reports how many bytes it holds.
func TestHeldBytes(t *testing.T) {
	l, err := newLaw()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	const answers, head = 20, `{"kind":"PodList","apiVersion":"v1","items":[`
	for name, text := range map[string]string{
		"values of an item":  head + `{"labels":{"internal.virt.example/a":""},"a":[` + strings.Repeat("0,", 120_000) + `0]},{}]}`,
		"edits of an item":   head + `{"labels":{` + strings.Repeat(`"internal.virt.example/a":"",`, 8_000) + `"a":""}},{}]}`,
		"a long edit":        head + `{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"internal.virt.example/v1\",\"a\":\"` + strings.Repeat("x", 240_000) + `\"}"}},{}]}`,
		"a document":         `{"apiVersion":"internal.virt.example/v1","a":"` + strings.Repeat("x", 240_000) + `"}`,
		"values of document": `{"apiVersion":"internal.virt.example/v1","a":[` + strings.Repeat("0,", 120_000) + `0]}`,
	} {
		g := NewWithT(t)
		before, held := heap(), 0
		var all []*apirewrite.Reader
		for range answers {
			last := 0
			one := l.rules.Answer(strings.NewReader(text), apirewrite.Target{API: true}, apirewrite.Largest)
			one.Limit(apirewrite.Limits{Hold: func(bytes int) error { last = bytes; return nil }})
			g.Expect(one.Prime()).To(Succeed())
			all, held = append(all, one), held+last
		}
		g.Expect((heap()-before)/answers).To(BeNumerically("<=", 64<<10+held/answers), "%s: %d bytes are told", name, held/answers)
		runtime.KeepAlive(all)
	}
}

// heap returns the bytes of the heap that are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestWatchAfterLargeEvent: after a large event, a watch that waits does not keep the event's memory.
func TestWatchAfterLargeEvent(t *testing.T) {
	g := NewWithT(t)
	l, err := newLaw()
	g.Expect(err).NotTo(HaveOccurred())
	const size, small = 4 << 20, "{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"internal.virt.example/v1\"}}\n"
	before := heap()
	in, source := io.Pipe()
	watch := l.rules.Answer(in, apirewrite.Target{API: true, Watch: true}, apirewrite.Largest)
	go func() {
		_, _ = io.Copy(source, io.MultiReader(strings.NewReader(`{"labels":{"internal.virt.example/a":""},"a":[0`), io.LimitReader(&commas{}, size), strings.NewReader("]}\n"+small)))
		_ = source.Close()
	}()
	buffer, last := make([]byte, 32<<10), ""
	for !strings.HasSuffix(last, strings.Replace(small, "internal.virt.example", "kubevirt.io", 1)) {
		n, err := watch.Read(buffer)
		g.Expect(err).NotTo(HaveOccurred())
		last = (last + string(buffer[:n]))[max(0, len(last)+n-100):]
	}
	_, err = watch.Read(buffer)
	g.Expect(err).To(MatchError(io.EOF))
	g.Expect(heap() - before).To(BeNumerically("<", 1<<20))
	runtime.KeepAlive(watch)
}

// commas are elements of an array.
type commas struct{ odd bool }

func (c *commas) Read(p []byte) (int, error) {
	for i := range p {
		if c.odd = !c.odd; c.odd {
			p[i] = ','
		} else {
			p[i] = '0'
		}
	}
	return len(p), nil
}
