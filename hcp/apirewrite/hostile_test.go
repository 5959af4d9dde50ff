// This file shows what hostile and broken documents cost and become.

package apirewrite_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/apirewrite"
)

func answered(t *testing.T, source io.Reader, target apirewrite.Target) (string, error) {
	t.Helper()
	l, err := newLaw()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	text, err := io.ReadAll(l.rules.Answer(source, target, apirewrite.Largest))
	return string(text), err
}

// TestAliases: aliases in YAML can make 100 MB from 100 KB, so a body with an alias is refused. The same characters within a string are not
// aliases.
func TestAliases(t *testing.T) {
	l, err := newLaw()
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	target := apirewrite.Target{API: true, Group: "kubevirt.io", Resource: "virtualmachines"}
	const head = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\n"
	for name, body := range map[string]string{
		"a long scalar, a thousand times": head + "a: &a " + strings.Repeat("x", 100<<10) + "\nb: [" + strings.Repeat("*a,", 1000) + "]\n",
		"aliases of aliases":              head + "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n",
		"a merge key":                     head + "a: &a {b: c}\nd: {<<: *a}\n",
		"a key":                           head + "a: &a b\n? *a\n: c\n",
		"without a name of the rules":     "a: &a x\nb: *a\nc: \"\\n\"\n",
	} {
		_, err := l.rules.Body(apirewrite.YAML, []byte(body), target, apirewrite.ToServer)
		g.Expect(err).To(MatchError(ContainSubstring("must have no aliases")), name)
	}
	_, err = l.rules.Body(apirewrite.YAML, []byte(head+"a: &a x\nb: *a\nc: \"\\z\"\n"), target, apirewrite.ToServer)
	g.Expect(err).To(MatchError(ContainSubstring("unknown escape")), "what one parser alone takes is not sent on")
	renamed, err := l.rules.Body(apirewrite.YAML, []byte(head+"a: '*.apps & more'\nb: x&y*z\n"), target, apirewrite.ToServer)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(renamed).To(MatchJSON(`{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachine","a":"*.apps & more","b":"x&y*z"}`))
}

// TestCostOfHostileDocuments: the cost of a document is proportional to its size, up to a megabyte, whatever it contains.
func TestCostOfHostileDocuments(t *testing.T) {
	l, err := newLaw()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	many := func(size int, s string) string { return strings.TrimSuffix(strings.Repeat(s, size/len(s)), ",") }
	for name, document := range map[string]func(size int) string{
		"escapes": func(n int) string { return `{"apiVersion":"kubevirt.io/v1","a":"` + many(n, `\n`) + `"}` },
		"quotes":  func(n int) string { return `{"apiVersion":"kubevirt.io/v1","a":"` + many(n, `\"`) + `"}` },
		"groups": func(n int) string {
			return `{"apiVersion":"kubevirt.io/v1","apiGroups":[` + many(n, `"",`) + `],"resources":[` + many(n, `"",`) + `]}`
		},
		"the same group": func(n int) string {
			return `{"apiGroups":[` + many(n, `"kubevirt.io",`) + `],"resources":[` + many(n, `"pods",`) + `],"resourceNames":[` + many(n, `"a",`) + `]}`
		},
		"words": func(n int) string {
			return `{"kind":"Status","apiVersion":"v1","message":"kubevirt.io ` + many(n, `a/`) + `"}`
		},
		"levels of words": func(n int) string {
			return `{"kind":"Status","apiVersion":"v1","message":"kubevirt.io ` + many(n, `a.`) + `"}`
		},
		"duplicate names": func(n int) string {
			return `{"apiVersion":"kubevirt.io/v1",` + many(n, `"kind":"VirtualMachine",`) + `}`
		},
		"escaped names": func(n int) string {
			return `{"apiVersion":"kubevirt.io/v1","labels":{` + many(n, `"\u006bubevirt.io\u002fa":"",`) + `}}`
		},
		"fields": func(n int) string {
			return `{"apiVersion":"kubevirt.io/v1","fieldsV1":{` + many(n, `"k:{\"apiVersion\":\"kubevirt.io/v1\"}":{},`) + `}}`
		},
		"arrays": func(n int) string { // at most 9,000 levels
			return `{"apiVersion":"kubevirt.io/v1","a":` + strings.Repeat("[", n/116) + strings.Repeat("]", n/116) + `}`
		},
		"lists of lists": func(n int) string {
			return `{"apiVersion":"kubevirt.io/v1","kind":"` + many(n, "List") + `","items":` + strings.Repeat(`[{"items":`, n/262) + `[]` + strings.Repeat(`}]`, n/262) + `}`
		},
		"what was applied": func(n int) string {
			return `{"apiVersion":"kubevirt.io/v1","annotations":{` + many(n, `"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"kubevirt.io/v1\"}",`) + `}}`
		},
		"operations": func(n int) string {
			return `[{"op":"add","path":"/metadata/labels/kubevirt.io~1a` + many(n, `/labels`) + `","value":"kubevirt.io/x"}]`
		},
		"directives of a patch": func(n int) string {
			return `{"apiVersion":"kubevirt.io/v1","` + many(n, "$/") + `":{}}`
		},
		"a rule in a patch": func(n int) string {
			return `[` + many(n, `{"op":"add","path":"/kind","value":"VirtualMachine"},`) + `]`
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			costGrowsWithSize(t, name, 1<<20/grows, func(size int) {
				text := document(size)
				contentType, target := "application/json", apirewrite.Target{API: true, Group: "kubevirt.io", Resource: "virtualmachines"}
				if text[0] == '[' {
					contentType = apirewrite.JSONPatch
				}
				_, err := l.rules.Body(contentType, []byte(text), target, apirewrite.ToServer)
				g.Expect(err).NotTo(HaveOccurred())
				_, err = io.Copy(io.Discard, l.rules.Answer(strings.NewReader(text), target, apirewrite.Largest))
				g.Expect(err).NotTo(HaveOccurred())
			})
		})
	}
}

// TestStrangeAnswers: answers that an API server could send but does not today, and answers that are not from an API server.
func TestStrangeAnswers(t *testing.T) {
	const (
		vm, itsName = `{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachine"}`, `{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine"}`
		definition  = `{"metadata":{"name":"internalvirtualmachines.internal.virt.example"},"spec":{"group":"internal.virt.example","names":{"kind":"InternalVirtualMachine"}}}`
		its         = `{"metadata":{"name":"virtualmachines.kubevirt.io"},"spec":{"group":"kubevirt.io","names":{"kind":"VirtualMachine"}}}`
	)
	vms := apirewrite.Target{API: true, Group: "kubevirt.io", Resource: "virtualmachines"}
	definitions := apirewrite.Target{API: true, Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	watch := vms
	watch.Watch = true
	for name, row := range map[string]struct {
		target       apirewrite.Target
		server, want string
	}{
		"items first":             {vms, `{"items":[` + vm + `],"kind":"InternalVirtualMachineList","apiVersion":"internal.virt.example/v1"}`, `{"items":[` + itsName + `],"kind":"VirtualMachineList","apiVersion":"kubevirt.io/v1"}`},
		"items before the kind":   {vms, `{"apiVersion":"internal.virt.example/v1","items":[` + vm + `],"kind":"InternalVirtualMachineList"}`, `{"apiVersion":"kubevirt.io/v1","items":[` + itsName + `],"kind":"VirtualMachineList"}`},
		"items without a kind":    {definitions, `{"kind":"CustomResourceDefinitionList","apiVersion":"apiextensions.k8s.io/v1","items":[` + definition + `]}`, `{"kind":"CustomResourceDefinitionList","apiVersion":"apiextensions.k8s.io/v1","items":[` + its + `]}`},
		"nothing but the items":   {definitions, `{"items":[` + definition + `],"kind":"CustomResourceDefinitionList","apiVersion":"apiextensions.k8s.io/v1"}`, `{"items":[` + its + `],"kind":"CustomResourceDefinitionList","apiVersion":"apiextensions.k8s.io/v1"}`},
		"a kind after such items": {definitions, `{"apiVersion":"apiextensions.k8s.io/v1","items":[` + definition + `],"kind":"CustomResourceDefinitionList"}`, `{"apiVersion":"apiextensions.k8s.io/v1","items":[` + its + `],"kind":"CustomResourceDefinitionList"}`},
		"no items":                {vms, `{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachineList","items":null}`, `{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineList","items":null}`},
		"a page":                  {vms, `{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachineList","metadata":{"continue":"eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ","remainingItemCount":1},"items":[` + vm + `]}`, `{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineList","metadata":{"continue":"eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ","remainingItemCount":1},"items":[` + itsName + `]}`},
		"an object with items":    {vms, `{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachine","items":[{"labels":{"internal.virt.example/a":""}}]}`, `{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","items":[{"labels":{"kubevirt.io/a":""}}]}`},
		"escaped items":           {vms, `{"\u0061piVersion":"internal.virt.example/v1","k\u0069nd":"InternalVirtualMachineList","\u0069tems":[` + vm + `]}`, `{"\u0061piVersion":"kubevirt.io/v1","k\u0069nd":"VirtualMachineList","\u0069tems":[` + itsName + `]}`},
		"a zero":                  {vms, `{"apiVersion":"internal.virt.example/v1","kind":"InternalVirtualMachine","a\u0000":"\u0000"}`, `{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","a\u0000":"\u0000"}`},
		"huge numbers":            {vms, `{"apiVersion":"internal.virt.example/v1","n":[1e999,-0,123456789012345678901234567890.10,1E+2]}`, `{"apiVersion":"kubevirt.io/v1","n":[1e999,-0,123456789012345678901234567890.10,1E+2]}`},
		"lone surrogates":         {vms, `{"apiVersion":"internal.virt.example/v1","\ud800":"\udc00","labels":{"internal.virt.example/\udfff":"\ud800\ud800"}}`, `{"apiVersion":"kubevirt.io/v1","\ud800":"\udc00","labels":{"kubevirt.io/\udfff":"\ud800\ud800"}}`},
		"no UTF-8":                {vms, "{\"apiVersion\":\"internal.virt.example/v1\",\"a\":\"\xff\xfe\"}", "{\"apiVersion\":\"kubevirt.io/v1\",\"a\":\"\xff\xfe\"}"},
		"what was applied": {vms, `{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"\u003c\ud83d\ude00\u2028\ud800\\n\u00e9\":1,\"apiVersion\":\"internal.virt.example/v1\",\"\ud83d\ude00\\t\":\"\u003e\\\\\",\u0022kind\u0022:\"InternalVirtualMachine\"}\n"}}`,
			`{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"\u003c😀\u2028�\\né\":1,\"apiVersion\":\"kubevirt.io/v1\",\"😀\\t\":\"\u003e\\\\\",\"kind\":\"VirtualMachine\"}\n"}}`},
		"a mark of its order": {vms, "\ufeff" + vm, "\ufeff" + vm},
		"HTML":                {vms, "<html>internal.virt.example", "<html>internal.virt.example"},
		"no JSON":             {vms, `{internal.virt.example}`, `{internal.virt.example}`},
		"text after it":       {vms, vm + ` internal.virt.example {`, itsName + ` internal.virt.example {`},
		"space":               {vms, " \n\t" + vm + "\r\n ", " \n\t" + itsName + "\r\n "},
		"an array":            {vms, `["internal.virt.example/v1"]`, `["internal.virt.example/v1"]`},
		"a bookmark": {watch, `{"type":"BOOKMARK","object":{"kind":"InternalVirtualMachine","apiVersion":"internal.virt.example/v1","metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n",
			`{"type":"BOOKMARK","object":{"kind":"VirtualMachine","apiVersion":"kubevirt.io/v1","metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"},
		"an error": {watch, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","message":"internalvirtualmachines.internal.virt.example: too old","code":410}}` + "\n",
			`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","message":"virtualmachines.kubevirt.io: too old","code":410}}` + "\n"},
		"a table": {watch, `{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[{"name":"Name"}],"rows":[{"cells":["a"],"object":` + vm + `}]}}` + "\n",
			`{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[{"name":"Name"}],"rows":[{"cells":["a"],"object":` + itsName + `}]}}` + "\n"},
		"events in a line": {watch, `{"type":"ADDED","object":` + vm + `}{"type":"DELETED","object":` + vm + `}`, `{"type":"ADDED","object":` + itsName + `}{"type":"DELETED","object":` + itsName + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for _, source := range []io.Reader{strings.NewReader(row.server), iotest.OneByteReader(strings.NewReader(row.server))} {
				got, err := answered(t, source, row.target)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(got).To(Equal(row.want))
			}
		})
	}
}

// TestCutAnswers: each incomplete answer ends with an error, except a watch that ends after an event.
func TestCutAnswers(t *testing.T) {
	g := NewWithT(t)
	const event = `{"type":"ADDED","object":{"apiVersion":"internal.virt.example/v1","é\"":"\\"}}`
	for _, row := range []struct {
		watch bool
		text  string
	}{
		{false, `{"items":[{"a":"\"]}"},[1,{}]],"kind":"PodList","apiVersion":"v1"}`},
		{false, `{"apiVersion":"v1","items":[{"a":"\"]}"} , {} ],"kind":"PodList","metadata":{}}`},
		{false, `{"kind":"PodList","apiVersion":"v1","items":[]}`},
		{false, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["internal.virt.example","\\"]}]}`},
		{true, event + "\n" + event + "\n"},
	} {
		for cut := 1; cut < len(row.text); cut++ {
			_, err := answered(t, strings.NewReader(row.text[:cut]), apirewrite.Target{API: true, Watch: row.watch})
			if between := row.watch && (cut%(len(event)+1) == 0 || cut%(len(event)+1) == len(event)); between {
				g.Expect(err).NotTo(HaveOccurred(), row.text[:cut])
			} else if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s ends with %v", row.text[:cut], err)
			}
		}
	}
}

// TestDeepAnswers: answers may be as deep as an API server allows, and no deeper.
func TestDeepAnswers(t *testing.T) {
	g := NewWithT(t)
	deep := func(levels int, group string) string {
		return `{"apiVersion":"` + group + `/v1","a":` + strings.Repeat(`{"a":[`, levels/2) + strings.Repeat(`]}`, levels/2) + "}"
	}
	target := apirewrite.Target{API: true}
	for _, levels := range []int{1_000, 9_000} {
		got, err := answered(t, strings.NewReader(deep(levels, "internal.virt.example")), target)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(deep(levels, "kubevirt.io")))
	}
	deepest := strings.Repeat("[", 5_000_000)
	whole := `{"apiVersion":"internal.virt.example/v1","a":` + deepest + strings.Repeat("]", len(deepest)) + "}"
	got, err := answered(t, strings.NewReader(whole), target)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got == whole).To(BeTrue(), "it is passed on as it is")
	_, err = answered(t, strings.NewReader(`{"kind":"List","apiVersion":"v1","items":[`+whole+"]}"), target)
	g.Expect(err).To(MatchError(ContainSubstring("item 1 of the list: the document is not valid JSON")))
}

// TestLargeAnswers: a list of 30 MB is renamed while it is read, also if its kind is at the end. One that proves nothing before
// its items is one document.
func TestLargeAnswers(t *testing.T) {
	item := func(group, prefix string) string {
		return fmt.Sprintf(`{"apiVersion":"%s/v1","kind":"%sVirtualMachine","a":"%s"}`, group, prefix, strings.Repeat("x", 10_000))
	}
	list := func(format, group, prefix string) string {
		one := item(group, prefix)
		return fmt.Sprintf(format, group, strings.Repeat(one+",", 2_999)+one, prefix)
	}
	for _, format := range []string{`{"apiVersion":"%[1]s/v1","items":[%[2]s],"kind":"%[3]sVirtualMachineList"}`, `{"items":[%[2]s],"kind":"%[3]sVirtualMachineList","apiVersion":"%[1]s/v1"}`} {
		g := NewWithT(t)
		got, err := answered(t, strings.NewReader(list(format, "internal.virt.example", "Internal")), apirewrite.Target{API: true})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got == list(format, "kubevirt.io", "")).To(BeTrue(), format)
	}
}

// TestLargestItem: the limit is exact to the byte, for any answer and any sizes of reads.
func TestLargestItem(t *testing.T) {
	l, err := newLaw()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	const limit = 1000
	sized := func(n int) string {
		const around = `{"labels":{"internal.virt.example/a":""},"x":""}`
		return strings.Replace(around, `"x":"`, `"x":"`+strings.Repeat("x", n-len(around)), 1)
	}
	for format, watch := range map[string]bool{
		"%s": false, "%s\n": true, `{"kind":"PodList","apiVersion":"v1","items":[{},%s]}`: false, `{"kind":"Table","apiVersion":"v1","rows":[%s,{}]}`: false,
	} {
		g := NewWithT(t)
		for _, n := range []int{limit, limit + 1} {
			text := fmt.Sprintf(format, sized(n))
			for _, source := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
				_, err := io.Copy(io.Discard, l.rules.Answer(source, apirewrite.Target{API: true, Watch: watch}, limit))
				g.Expect(errors.Is(err, apirewrite.ErrTooLarge)).To(Equal(n > limit), "%s with %d bytes: %v", format, n, err)
			}
		}
	}
}

// TestLargestYAML: YAML above a size is refused, because parsing it takes long. YAML that only the API server parses has no limit here.
func TestLargestYAML(t *testing.T) {
	l, err := newLaw()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	const head = "apiVersion: kubevirt.io/v1\n"
	for what, item := range map[string]string{"items": "- 0\n", "empty items": "-\n", "maps": "- {a: 0}\n"} {
		g := NewWithT(t)
		flat := func(head string, size int) []byte {
			return []byte(head + "a:\n" + strings.Repeat(item, (size-len(head)-3)/len(item)))
		}
		for name, large := range map[string][]byte{"word": flat(head, 3<<20), "escape": flat("b: \"\\x61\"\n", 3<<20)} {
			_, err = l.rules.Body(apirewrite.YAML, large, apirewrite.Target{}, apirewrite.ToServer)
			g.Expect(err).To(MatchError(ContainSubstring("YAML has more than 262144 bytes: send JSON")), "%s, %s", what, name)
		}
		plain := flat("", 3<<20)
		kept, err := l.rules.Body(apirewrite.YAML, plain, apirewrite.Target{}, apirewrite.ToServer)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(bytes.Equal(kept, plain)).To(BeTrue(), what)
		_, memory := cost(t, func() {
			renamed, err := l.rules.Body(apirewrite.YAML, flat(head, apirewrite.LargestYAML), apirewrite.Target{}, apirewrite.ToServer)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(bytes.Contains(renamed, []byte("internal.virt.example/v1"))).To(BeTrue(), what)
		})
		t.Logf("%s: %.0f MiB", what, memory/(1<<20))
		g.Expect(memory).To(BeNumerically("<", 64<<20), "%s: bytes that are allocated in all", what)
	}
}
