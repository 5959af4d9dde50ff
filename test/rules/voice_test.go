package rules

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cldmnky/oooi/explain/meaning"
	"github.com/cldmnky/oooi/network/problem"
)

// The longest sentences, in words: of what operators read at 3 a.m., and of
// documents and comments, whose average is also held.
const (
	longestInMessages = 25
	longestInDocs     = 30
	averageInDocs     = 20
)

// A word is a pattern for one that is not used, and the one to use.
type word struct{ not, use string }

// A list finds words that are not used.
type list struct {
	any   *regexp.Regexp
	words []word
}

func listOf(words []word) list {
	var all []string
	for _, w := range words {
		all = append(all, w.not)
	}
	return list{regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)\b`), words}
}

// first is the first word of text that is not used, and the one to use. Empty: none.
func (l list) first(text string) (found, use string) {
	found = l.any.FindString(text)
	for _, w := range l.words {
		if found != "" && regexp.MustCompile(`(?i)^(?:`+w.not+`)$`).MatchString(found) {
			return found, w.use
		}
	}
	return found, ""
}

// plainWords are for all texts.
func plainWords() list { return listOf(notAnywhere()) }

// documentWords are for documents.
func documentWords() list { return listOf(append(notAnywhere(), notInTexts()...)) }

// messageWords are for what operators read.
func messageWords() list {
	return listOf(slices.Concat(notAnywhere(), notInTexts(), notInMessages()))
}

func notAnywhere() []word {
	return []word{
		{"nobody", "no one acts here: name the subject"}, {"somebody", "another host, another user"}, {"anybody", "any client"}, {"whoever", "the client that"},
		{"anew", "again, recreated"}, {"thereby", "so"}, {"whose each", "each of which"}, {"by which", "through which"}, {"made out", "found"},
		{"mend(?:s|ed|ing)?", "fix"}, {"it is looked", "checks"}, {"beside", "next to, in addition to"}, {"let through", "allowed"},
		{"siblings?", "peer"}, {"take-?overs?", "failover"}, {"strangers?", "unknown clients"}, {"lame", "unavailable"},
		{"of now", "current"}, {"of late", "recently"}, {"in sum", "in total"}, {"go(?:es)? on", "continues"}, {"over and over", "repeatedly"},
		{"plays? a VM", "acts as a VM"}, {"tells (?:how|what|where|whether|which|why)", "reports whether, says why"}, {"wins? over", "takes precedence over"},
		{`(?:is|are|be|does|do) not(?: \w+)? any ?more`, "no longer"}, {"guest (?:clusters?|ingress|networks?|services?|users?)", "hosted cluster"},
		{"(?:knows?|learns?) of", "knows about, notices, sees"}, {"no substitute", "cannot replace"}, {"held off", "wait"}, {"answers none", "answers no question"},
		{"often theirs", "name the owner"}, {"refused elsewhere", "name what refuses it"}, {"(?:is|are) free for", "can continue for"},
		{`(?:has|have|takes?|reads?|writes?|changes?|depends? on) no(?: \w+)? but`, "has only"},
		{"of ours", "of oooi"}, {"counts? for nothing", "is ignored"}, {"what(?:ever)? (?:becomes|became) of", "the result, even if"},
		{"(?:says|makes) of", "says about, makes from"}, {"(?:it|that) is none", "is not a"}, {"the like", "name them"}, {"goes by", "depends on"},
		{"(?:tells? of|told by)", "reports, shows"}, {"leads? nowhere", "has no endpoint"}, {"all the same", "still"}, {"(?:by|to) whom", "name the caller"},
		{"(?:ends?|noticed|removed|reported|returns?|stops?) at once", "immediately"}, {`is that of (?:fmt|http|httputil|io|net|sort)\.[A-Z]\w+`, "implements"},
		{"(?:it|that|which|one|file|restart|answer) (?:is|was) no (?:cause|client|edge|error|failure|fault|finding|host|news|reason|VM)", "is not a"},
	}
}

func notInTexts() []word {
	return []word{
		{"for the sake", "for"}, {"(?:says?|said|tells?) so", "reports it"}, {"gets? in", "has access"},
		{"in the way of", "blocks"}, {"leads? to (?:the )?edges", "forwards to edges"}, {"by (?:TCP|UDP)", "over TCP"}, {"questions by", "queries over"},
		{"of these writes", "requests (writes)"}, {"are no (?:clients|hosts|objects|VMs)", "are not"}, {"(?:networks?|objects?|selectors?) of others", "of other owners"},
		{"some [0-9]+", "about"}, {"is named as", "name what identifies it"}, {"for all together", "in total"},
		{`1 (?:\w+ )?(?:addresses|edges|leases|names|networks|nodes|problems)`, "the singular"},
	}
}

func notInMessages() []word {
	return []word{
		{"machines?", "VM"}, {"segments?", "network"}, {"said", "set"}, {"told", "configured"}, {"guard", "failover agent"},
		{"own address", "edge address"}, {"next hop", "next-hop VIP"}, {"service address", "service VIP"}, {"no more", "no longer"}, {"elsewhere", "say where"},
	}
}

// What does not keep the rules of this file yet: directories of Go files, and documents.
// The lists only get shorter: an entry without a finding is an error.
func stringsNotYet() map[string]bool {
	return set()
}

func commentsNotYet() map[string]bool {
	return set(
		"test/testbed/modules/bridgevlan", "test/testbed/modules/shim")
}

func storiesNotYet() map[string]bool { return set() }

func documentsNotYet() map[string]bool {
	return set()
}

func set(all ...string) map[string]bool {
	out := map[string]bool{}
	for _, x := range all {
		out[x] = true
	}
	return out
}

// A finding is one text that breaks a rule.
type finding struct{ where, text string }

// breaks are what is wrong with text, whose sentences have at most longest words.
// 0: any.
func breaks(where, text string, not list, longest int) []finding {
	var out []finding
	if found, use := not.first(text); found != "" {
		out = append(out, finding{where, strconv.Quote(found) + ": use " + use + ": " + text})
	}
	for _, s := range sentences(text) {
		if n := len(strings.Fields(s)); longest > 0 && n > longest {
			out = append(out, finding{where, strconv.Itoa(n) + " words, more than " + strconv.Itoa(longest) + ": " + s})
		}
	}
	return out
}

var ends = regexp.MustCompile(`[.!?]["')]*(?:\s+|$)|\n\s*\n|:\n|\n {2,}`)

// sentences of a text, without empty ones.
func sentences(text string) []string {
	var out []string
	for _, s := range ends.Split(text, -1) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// report fails for findings in places that keep the rules, and for places that are
// listed and keep them.
func report(t *testing.T, listed map[string]bool, place func(where string) string, all []finding) {
	t.Helper()
	found := map[string]int{}
	for _, f := range all {
		p := place(f.where)
		found[p]++
		if !listed[p] {
			t.Errorf("%s: %s", f.where, f.text)
		}
	}
	for p := range listed {
		if found[p] == 0 {
			t.Errorf("%s keeps the rules now: remove it from the list", p)
		}
	}
}

func itself(where string) string { return where }

// TestVoiceOfMessages: what the catalogue says about each cause is plain, short and standard.
func TestVoiceOfMessages(t *testing.T) {
	not := messageWords()
	for _, e := range problem.Catalogue() {
		for _, part := range []string{e.What, e.Effect, e.Fix, meaning.Of(e.Reason).Text} {
			report(t, nil, itself, breaks(string(e.Cause), part, not, longestInMessages))
		}
	}
}

// TestVoiceOfStrings: errors, logs, flags and other text in product code.
func TestVoiceOfStrings(t *testing.T) {
	not, all := messageWords(), []finding(nil)
	for _, s := range sources(t) {
		if !s.isProduct() {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err == nil && strings.Contains(text, " ") {
				all = append(all, breaks(s.path, text, not, longestInMessages)...)
			}
			return true
		})
	}
	report(t, stringsNotYet(), filepath.Dir, all)
}

// TestVoiceOfComments: every comment of a Go file.
func TestVoiceOfComments(t *testing.T) {
	not, all := plainWords(), []finding(nil)
	for _, s := range sources(t) {
		if strings.HasSuffix(s.path, "voice_test.go") {
			continue
		}
		for _, c := range s.ast.Comments {
			all = append(all, breaks(s.path, c.Text(), not, 0)...)
		}
	}
	report(t, commentsNotYet(), filepath.Dir, all)
}

// TestVoiceOfStories: what operators see of each story.
func TestVoiceOfStories(t *testing.T) {
	not, all := messageWords(), []finding(nil)
	for _, name := range []string{"plan.txt", "condition.txt"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "test", "scenarios", "*", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(b)) {
				all = append(all, breaks(f, strings.TrimSpace(line), not, 0)...)
			}
		}
	}
	report(t, storiesNotYet(), filepath.Base, all)
}

// TestVoiceOfDocuments: docs and the documents of the root, without code.
func TestVoiceOfDocuments(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"} {
		files = append(files, filepath.Join("..", "..", name))
	}
	not, all := documentWords(), []finding(nil)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(filepath.Join("..", ".."), f)
		text := prose(string(b))
		all = append(all, breaks(rel, text, not, longestInDocs)...)
		if count := len(sentences(text)); count > 0 && len(strings.Fields(text))/count > averageInDocs {
			all = append(all, finding{rel, "sentences have more than " + strconv.Itoa(averageInDocs) + " words on average"})
		}
	}
	report(t, documentsNotYet(), itself, all)
}

var inlineCode = regexp.MustCompile("`[^`]*`")

// prose is a document without code, headings and the frames of tables; each cell and
// each item of a list is a paragraph.
func prose(text string) string {
	var out []string
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced = !fenced
		case fenced, strings.HasPrefix(line, "    ") && !strings.HasPrefix(trimmed, "-"), strings.HasPrefix(trimmed, "#"):
			out = append(out, "")
		case strings.HasPrefix(trimmed, "|"):
			out = append(out, "", strings.Join(slices.DeleteFunc(strings.Split(trimmed, "|"), func(c string) bool { return strings.Trim(c, " -") == "" }), "\n\n"), "")
		case strings.HasPrefix(trimmed, "- "), strings.HasPrefix(trimmed, "* "):
			out = append(out, "", trimmed[2:])
		default:
			out = append(out, line)
		}
	}
	return inlineCode.ReplaceAllString(strings.Join(out, "\n"), "code")
}
