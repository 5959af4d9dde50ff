package manifest_test

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/manifest"
)

// names are the objects, each as "group Kind namespace/name".
func names(objects []manifest.Object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.Group+" "+o.String())
	}
	return out
}

func faultTexts(faults []manifest.Fault) []string {
	var out []string
	for _, f := range faults {
		out = append(out, f.Error())
	}
	return out
}

func utf16Of(text string, order binary.AppendByteOrder, mark bool) string {
	if mark {
		text = "\ufeff" + text
	}
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

// TestRead: every object in a file is read, whichever tool wrote the file.
func TestRead(t *testing.T) {
	a, b := `{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"ns","name":"a"}}`, `{"apiVersion":"g/v1","kind":"K","metadata":{"name":"b"}}`
	yamlA, yamlB := "apiVersion: v1\nkind: Service\nmetadata: {namespace: ns, name: a}\n", "apiVersion: g/v1\nkind: K\nmetadata:\n  name: b\n"
	both := []string{"v1 Service ns/a", "g K b"}
	list := func(items string) string { return `{"apiVersion":"v1","kind":"List","items":[` + items + `]}` }
	for name, c := range map[string]struct {
		content string
		want    []string
	}{
		"nothing":                        {"", nil},
		"comments and separators":        {"# a\n---\n# b\n---\n...\n", nil},
		"one":                            {yamlA, both[:1]},
		"two YAML documents":             {yamlA + "---\n" + yamlB, both},
		"an object on a separator":       {"--- " + a + "\n--- # comment\n" + yamlB, both},
		"an end marker":                  {yamlA + "...\n" + yamlB, both},
		"a directive":                    {"%YAML 1.1\n---\n" + yamlA + "---\n" + yamlB, both},
		"JSON values, one a line":        {a + "\n" + b + "\n", both},
		"JSON values on one line":        {a + b, both},
		"two lists after another":        {list(a) + "\n" + list(b) + "\n", both},
		"a list in a list":               {list(list(a) + "," + b), both},
		"an array":                       {"[" + a + ",\n" + b + "]", both},
		"JSON and YAML":                  {a + "\n---\n" + yamlB, both},
		"flow style, not JSON":           {"{apiVersion: g/v1, kind: K, metadata: {name: b}}", both[1:]},
		"a typed list":                   {"apiVersion: g/v1\nkind: KList\nitems:\n- metadata: {name: b}\n- {kind: Other, apiVersion: h/v1, metadata: {name: c}}\n", []string{"g K b", "h Other c"}},
		"values of a template":           {"replicas: 2\n---\n" + yamlB, both[1:]},
		"an empty list":                  {"apiVersion: g/v1\nkind: KList\nitems: []\n", nil},
		"a kind that ends with List":     {"apiVersion: g/v1\nkind: AllowList\nmetadata: {name: x}\n", []string{"g AllowList x"}},
		"UTF-8 with a byte order mark":   {"\ufeff" + yamlA, both[:1]},
		"UTF-16, little endian":          {utf16Of(yamlA+"---\r\n"+yamlB, binary.LittleEndian, true), both},
		"UTF-16, big endian":             {utf16Of(a+"\n"+b, binary.BigEndian, true), both},
		"UTF-16 without mark, little":    {utf16Of(yamlA, binary.LittleEndian, false), both[:1]},
		"UTF-16 without mark, big":       {utf16Of(a, binary.BigEndian, false), both[:1]},
		"lines that end with CR":         {strings.ReplaceAll(yamlA+"---\n"+yamlB, "\n", "\r"), both},
		"lines that end with CRLF":       {strings.ReplaceAll(yamlA+"---\n"+yamlB, "\n", "\r\n"), both},
		"a text with dashes in a string": {"apiVersion: v1\nkind: Service\nmetadata:\n  namespace: ns\n  name: a\ndata:\n  x: |\n    ---\n    kind: X\n    -----BEGIN\n---\n" + yamlB, both},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects, faults := manifest.Read("f.yaml", []byte(c.content))
			g.Expect(names(objects)).To(Equal(c.want))
			g.Expect(faults).To(BeEmpty())
		})
	}
}

// TestFaults: parts of a file that are not read are named with their line. Everything else is read.
func TestFaults(t *testing.T) {
	good := "---\napiVersion: v1\nkind: Service\nmetadata: {namespace: ns, name: a}\n"
	for name, c := range map[string]struct {
		content string
		fault   string
		unread  bool
	}{
		"a Helm template":              {"---\nname: {{ .Values.x }}\nkind: {{- if .Values.x }}\n" + good, "f.yaml: document 1: ", true},
		"broken YAML":                  {"---\na: b: c\n" + good, "f.yaml: document 1: yaml: ", true},
		"text after JSON":              {"---\n{\"kind\":\"A\",\"metadata\":{\"name\":\"x\"}}\nwarning: old\n" + good, "after JSON value 1: ", true},
		"text after a flow object":     {"---\n{kind: A, metadata: {name: x}}\n{kind: B}\n" + good, "content follows the object", true},
		"a first line that is indent":  {"---\n  kind: A\n  metadata: {name: x}\nkind: B\n" + good, "", true},
		"a key twice":                  {"---\nkind: A\nmetadata: {name: x}\nkind: B\n" + good, `key "kind" already set in map (the last one counts)`, false},
		"a number for a name":          {"---\nkind: A\nmetadata: {name: 5}\n" + good, "document 1: A: field metadata.name: want string, not number", true},
		"annotations that are a list":  {"---\nkind: A\nmetadata: {name: x, annotations: [a]}\n" + good, "document 1: A x: field metadata.annotations: want map, not array", true},
		"items that are no list":       {"---\nkind: AList\nitems: {}\n" + good, "document 1: A: items is not a list", true},
		"an item without a kind":       {"---\nkind: List\nitems:\n- metadata: {name: x}\n" + good, "document 1, item 1: it has no kind", false},
		"lists without end":            {"---\n" + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n" + good, "more than 10 nested lists", true},
		"no kind":                      {"---\napiVersion: v1\nreplicas: 2\n" + good, "document 1: it has no kind", false},
		"a text":                       {"---\nhello\n" + good, "document 1: not a Kubernetes object", false},
		"an annotation that is number": {"---\nkind: A\nmetadata: {name: x, annotations: {edges: 2}}\n" + good, "document 1: A x: the value of edges must be a quoted string; the API server refuses the object", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects, faults := manifest.Read("f.yaml", []byte(c.content))
			g.Expect(names(objects)).To(ContainElement("v1 Service ns/a"))
			g.Expect(faultTexts(faults)).To(ConsistOf(ContainSubstring(c.fault)))
			g.Expect(faults[0].Unread).To(Equal(c.unread))
		})
	}
	for name, content := range map[string]string{"UTF-32": "\xff\xfe\x00\x00k\x00\x00\x00", "half a UTF-16 file": "\xff\xfek\x00x"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, faults := manifest.Read("f.yaml", []byte(content))
			g.Expect(faultTexts(faults)).To(ConsistOf(ContainSubstring("f.yaml: ")))
			g.Expect(faults[0].Unread).To(BeTrue())
		})
	}
}

// TestUnquoted: values of annotations that are not strings are read as they are spelled in the file, in JSON as well.
func TestUnquoted(t *testing.T) {
	g := NewWithT(t)
	objects, _ := manifest.Read("f.yaml", []byte("kind: A\nmetadata:\n  name: x\n  annotations: {edges: 2, paused: true, mtu: '9000', none: null}\n  labels: {a: 1}\nspec: {x: 1}\n"))
	g.Expect(objects).To(HaveLen(1))
	o := objects[0]
	g.Expect(o.Annotations).To(Equal(map[string]string{"edges": "2", "paused": "true", "mtu": "9000", "none": ""}))
	g.Expect(o.Unquoted).To(Equal([]string{"a", "edges", "paused"}))
	var again struct {
		Metadata struct {
			Name                string
			Annotations, Labels map[string]string
		}
		Spec map[string]int
	}
	g.Expect(json.Unmarshal(o.JSON, &again)).To(Succeed())
	g.Expect(again.Metadata.Annotations).To(Equal(o.Annotations))
	g.Expect(again.Metadata.Labels).To(Equal(map[string]string{"a": "1"}))
	g.Expect(again.Spec).To(HaveKeyWithValue("x", 1))
}

// TestMerge: if an object was read twice, the newer version is used. A difference is named.
func TestMerge(t *testing.T) {
	version := func(file, resourceVersion, spec, status string) string {
		return file + "\nkind: A\nmetadata: {name: x, namespace: ns, resourceVersion: '" + resourceVersion + "'}\nspec: {v: " + spec + "}\nstatus: {v: " + status + "}\n"
	}
	for name, c := range map[string]struct {
		versions []string
		want     string // the file of the version that counts
		fault    string
	}{
		"equal":                     {[]string{version("a", "7", "1", "1"), version("b", "7", "1", "1")}, "b", ""},
		"the newer is first":        {[]string{version("a", "10", "1", "1"), version("b", "9", "2", "1")}, "a", "a: A ns/x is also in b and differs; this version counts"},
		"the newer is last":         {[]string{version("a", "9", "1", "1"), version("b", "10", "2", "1")}, "b", "b: A ns/x is also in a and differs; this version counts"},
		"only the status differs":   {[]string{version("a", "10", "1", "1"), version("b", "9", "1", "2")}, "a", ""},
		"of unknown order":          {[]string{version("a", "9", "1", "1"), version("b", "9", "1", "2")}, "b", "b: A ns/x is also in a and differs; this version counts"},
		"none was in etcd":          {[]string{version("a", "", "1", "1"), version("b", "", "1", "2")}, "b", "b: A ns/x is also in a and differs; this version counts"},
		"data of unknown order":     {[]string{"a\nkind: A\nmetadata: {name: x}\ndata: {p: q}\n", "b\nkind: A\nmetadata: {name: x}\ndata: {p: r}\n"}, "b", "b: A x is also in a and differs; this version counts"},
		"one was never in etcd":     {[]string{version("a", "9", "1", "1"), version("b", "", "2", "1")}, "b", "b: A ns/x is also in a; the status there counts, and spec, annotations and labels here"},
		"one is of another kind":    {[]string{version("a", "9", "1", "1"), strings.Replace(version("b", "10", "1", "1"), "kind: A", "kind: B", 1)}, "a", ""},
		"one is in other namespace": {[]string{version("a", "9", "1", "1"), strings.Replace(version("b", "10", "1", "1"), "namespace: ns", "namespace: m", 1)}, "a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var all []manifest.Object
			for _, v := range c.versions {
				file, text, _ := strings.Cut(v, "\n")
				objects, faults := manifest.Read(file, []byte(text))
				g.Expect(faults).To(BeEmpty())
				all = append(all, objects...)
			}
			merged, faults := manifest.Merge(all)
			g.Expect(merged[0].File).To(Equal(c.want))
			g.Expect(strings.Join(faultTexts(faults), "\n")).To(Equal(c.fault))
		})
	}
}

// TestMergeWithFileToApply: an object of an API server, with a version of it to apply, is what would be there
// afterwards, whatever the order.
func TestMergeWithFileToApply(t *testing.T) {
	live := func(resourceVersion, spec string) string {
		return "kind: A\nmetadata: {name: x, uid: u, resourceVersion: '" + resourceVersion + "', creationTimestamp: t, annotations: {a: live}}\nspec: {v: " + spec + "}\nstatus: {v: 1}\n"
	}
	file := func(spec string) string {
		return "kind: A\nmetadata: {name: x, labels: {l: file}, creationTimestamp: null}\nspec: {v: " + spec + "}\nstatus: {}\n"
	}
	applied := `{"kind":"A","metadata":{"name":"x","uid":"u","resourceVersion":"9","creationTimestamp":"t","labels":{"l":"file"}},"spec":{"v":5},"status":{"v":1}}`
	const combined = "the status there counts, and spec, annotations and labels here"
	for name, c := range map[string]struct {
		versions []string
		want     string
		faults   []string
	}{
		"the file is last":     {[]string{live("9", "1"), file("5")}, applied, []string{combined}},
		"the file is first":    {[]string{file("5"), live("9", "1")}, applied, []string{combined}},
		"two are live":         {[]string{file("5"), live("8", "3"), live("9", "1")}, applied, []string{"differs; this version counts", combined}},
		"two are files":        {[]string{file("4"), live("9", "1"), file("5")}, applied, []string{"differs; this version counts", combined}},
		"without its version":  {[]string{live("", "1"), file("5")}, strings.Replace(applied, `"9"`, `""`, 1), []string{combined}},
		"a rendered status":    {[]string{live("", "1"), strings.Replace(file("5"), "status: {}", "status: {v: 0, host: {name: '', ports: [0]}}", 1)}, strings.Replace(applied, `"9"`, `""`, 1), []string{combined}},
		"a file with a status": {[]string{strings.Replace(file("5"), "status: {}", "status: {v: 7}", 1), live("9", "1")}, applied, []string{combined}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var all []manifest.Object
			for _, text := range c.versions {
				objects, _ := manifest.Read("f", []byte(text))
				all = append(all, objects...)
			}
			merged, faults := manifest.Merge(all)
			g.Expect(merged).To(HaveLen(1))
			g.Expect(merged[0].JSON).To(MatchJSON(c.want))
			g.Expect(merged[0].Labels).To(HaveKeyWithValue("l", "file"))
			texts := faultTexts(faults)
			g.Expect(texts).To(HaveLen(len(c.faults)))
			for i, text := range c.faults {
				g.Expect(texts[i]).To(HaveSuffix(text))
				g.Expect(faults[i].Resolved).To(Equal(text == combined))
			}
		})
	}
}

// FuzzRead: any content is read, or a fault names it.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", "kind: A\n---\nb", "[{}]", "\xff\xfe", "{{ x }}", "kind: List\nitems: [1]", "- a", "--- |\n x", "&a [*a]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		objects, _ := manifest.Read("f", content)
		for _, o := range objects {
			if o.Kind == "" || !json.Valid(o.JSON) {
				t.Errorf("%+v", o)
			}
		}
	})
}

// TestLines: the line of an annotation is that in the file, whatever precedes its document. In a list, it is unknown.
func TestLines(t *testing.T) {
	const text = `# a comment
---
kind: Namespace
metadata: {name: other}
---

# the cluster
apiVersion: hypershift.openshift.io/v1beta1
kind: HostedCluster
metadata:
  name: blue
  annotations:
    example.com/cidr: x
    "example.com/mtu": "9000"
spec:
  example.com/cidr: y
---
kind: List
apiVersion: v1
items:
- {kind: Service, apiVersion: v1, metadata: {name: git, annotations: {a: b}}}
---
{
  "kind": "Service", "apiVersion": "v1",
  "metadata": {
    "name": "json",
    "labels": {
      "example.com/a": "b"
    }
  }
}
`
	objects, faults := manifest.Read("a.yaml", []byte(text))
	g := NewWithT(t)
	g.Expect(faults).To(BeEmpty())
	var got []map[string]int
	for _, o := range objects {
		got = append(got, o.Lines)
	}
	g.Expect(got).To(Equal([]map[string]int{{"": 3}, {"": 8, "example.com/cidr": 13, "example.com/mtu": 14}, nil, {"": 23, "example.com/a": 28}}))
	objects, _ = manifest.Read("b.json", []byte(`{"kind": "A", "metadata": {"name": "a"}} {"kind": "B", "metadata": {"name": "b"}}`))
	g.Expect(objects).To(HaveLen(2))
	g.Expect(objects[0].Lines).To(BeNil())
}
