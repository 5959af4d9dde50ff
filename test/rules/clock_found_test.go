// This file shows what the rule of clock_test.go finds, and what it lets pass.

package rules

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testOfClocks has what the rule finds, marked by a comment or the first word of the line, and what it lets pass.
const testOfClocks = `package x
const soon, long = 5 * time.Second, time.Minute
func TestBench(t *testing.T) {
	if os.Getenv("OOOI_X") == "" { t.Skip("OOOI_X is not set") }
	g.Expect(time.Since(begin)).To(BeNumerically("<", time.Second))
}
func TestX(t *testing.T) {
	if time.Since(begin) > limit { t.Fatal("slow") } // bound
	if limit < end.Sub(begin) { t.Error("slow") } // bound
	took := time.Since(begin)
	g.Expect(took).To(BeNumerically("<", limit)) // bound
	g.Expect(took).To(And(BeNumerically(">", least), BeNumerically("<=", limit)), "words") // bound
	Expect(time.Since(begin) < limit).To(BeTrue()) // bound
	g.Eventually(f, "5s").Should(Succeed()) // wait
	g.Eventually(f, 59*time.Second, "10ms").Should(Succeed()) // wait
	g.Eventually(f, "5s").ShouldNot(Succeed()) // wait
	Eventually(f).WithContext(ctx).WithTimeout(soon).Should(Succeed()) // wait
	NewWithT(t).Eventually(f).Within(500 * time.Millisecond).ProbeEvery(time.Second).Should(Succeed()) // wait
	select { case <-done:
	case <-time.After(10 * time.Second): t.Fatal("hangs") // fail
	}
	for attempt := range 3 { run(attempt) } // try
	for try := 0; try < 3; try++ { run(try) } // try
	const local = time.Second
	g.Eventually(f, local).Should(Succeed()) // wait
	g.Eventually(f, 5).Should(Succeed()) // wait
	g.Eventually(f, max(soon, known-took)).Should(Succeed()) // wait
	g.Eventually(f, time.Minute/2).Should(Succeed()) // wait
	g.Expect(time.Since(begin).Seconds()).To(BeNumerically("<", 5)) // bound
	if time.Since(begin).Milliseconds() > 50 { t.Fatal("slow") } // bound
	times.To(BeTemporally("~", begin, time.Second))
	times.To(And(BeTemporally(">", begin), BeTemporally("<", begin.Add(soon))))
	time.Sleep(time.Second) // sleep
	short, err := net.DialTimeout("tcp", at, 5*time.Second)
	short.SetReadDeadline(time.Now().Add(time.Second))
	short := net.Dialer{Timeout: time.Second}
	short("dig", "+time=5")
	short := dns.Client{Net: "udp"}
	short := new(dns.Client)
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	short, cancel := context.WithDeadline(ctx, time.Now().Add(time.Second))
	short.SetReadDeadline(time.Now().Add(long / 3))
	short("curl", "-m", "20")
	short("kubectl", "wait", "--timeout=30s")
	short := []string{"kubectl", "--timeout", "30s"}
	short("udhcpc", "-n", "-q")
	short(vm.udhcpc("-n", "-t", "10", "-T", "1"))

	net.DialTimeout("tcp", at, time.Minute)
	c := dns.Client{Net: "udp", Timeout: time.Minute}
	c.SetReadDeadline(time.Now().Add(soon))
	// Nothing comes.
	c.SetReadDeadline(time.Now().Add(time.Second))
	run("dig", "+time=60")
	run("udhcpc", "-n", "-q", "-t", "30", "-T", "2")
	run("udhcpc", "-f")
	run("udhcpc", "-n", "-t", tries)
	run("curl", "-m", "60")
	run("kubectl", "--timeout=2m")
	g.Expect(run("udhcpc", "-n", "-t", "1", "-T", "1")).NotTo(Succeed())
	context.WithTimeout(ctx, soon)
	g.Eventually(f, max(time.Minute, known-took)).Should(Succeed())
	g.Eventually(f, 3*long).Should(Succeed())
	g.Eventually(f, 60).Should(Succeed())
	g.Expect(at).To(BeTemporally("~", begin, time.Minute))
	g.Expect(at).To(BeTemporally("<=", time.Now()))
	g.Expect(at).To(BeTemporally("~", w.now.Add(time.Hour), time.Second))
	if took < least { t.Fatal("early") }
	for time.Since(begin) < limit { f() }
	if w.now.Sub(begin) > limit { t.Fatal("of a played clock") }
	g.Expect(took).To(BeNumerically(">=", least))
	g.Expect(count).To(BeNumerically("<", 5))
	g.Eventually(f).Should(Succeed())
	g.Eventually(f, "1m", "10ms").Should(Succeed())
	g.Eventually(f, time.Minute).Should(Succeed())
	g.Eventually(f, unknown()).Should(Succeed())
	g.Consistently(f, "1s").Should(Succeed())
	select { case <-time.After(time.Second): f() }
	synctest.Test(t, func(t *testing.T) { g.Expect(time.Since(begin)).To(BeNumerically("<", limit)) })
}
`

// TestClocks: the rule finds each kind, and nothing else.
func TestClocks(t *testing.T) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "x_test.go", testOfClocks, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	s := source{path: "x_test.go", ast: f, fset: fset}
	var got, want []clock
	got = clocks(s, durationsOf([]source{s})[s.pkg()])
	kinds := map[string]string{"bound": boundOfTime, "wait": shortWait, "fail": shortFail, "try": secondTry, "sleep": sleeps}
	line := 0
	for l := range strings.Lines(testOfClocks) {
		line++
		if _, kind, ok := strings.Cut(strings.TrimSuffix(l, "\n"), "// "); ok && kinds[kind] != "" {
			want = append(want, clock{line, kinds[kind]})
		} else if strings.HasPrefix(l, "\tshort") {
			want = append(want, clock{line, shortLimit})
		} else if strings.HasPrefix(l, "\ttimes") {
			want = append(want, clock{line, soonTime})
		}
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(clock{})); d != "" {
		t.Error(d)
	}
}
