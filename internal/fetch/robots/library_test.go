package robots_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jimsmart/grobotstxt"
	"pgregory.net/rapid"

	"freshet/internal/fetch/robots"
)

// theirs asks the port of Google's parser, which reads the file anew for every page.
func theirs(file, agent, path string) (allowed bool, line int) {
	m := grobotstxt.NewRobotsMatcher()
	allowed = m.AgentAllowed(file, agent, "https://x.example"+path)
	return allowed, m.MatchingLine()
}

// Another program that reads robots.txt files comes to the same verdict, by a line that
// says the same.
func TestLibraryAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := strings.Join(rapid.SliceOfN(line(), 0, 24).Draw(t, "lines"), rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "end"))
		rules := robots.Parse([]byte(file)).For("freshet")
		for range 10 {
			path := "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "/", "ab", "aa", "?", "x", "%C3%A4", "$", "="}), 0, 8).Draw(t, "path"), "")
			got := rules.Verdict(path)
			allowed, _ := theirs(file, "freshet", path)
			if got.Allowed != allowed {
				t.Fatalf("%q of\n%s\nis allowed: %v by %q on line %d; the library says %v", path, file, got.Allowed, got.Rule, got.Rule.Line, allowed)
			}
		}
	})
}

// line draws a line on which the two agree: the library takes "/index.html" for "/" too,
// guesses at slips, and reads escapes in another way that need not be, are in lower case
// or stand beside letters that want one.
func line() *rapid.Generator[string] {
	pattern := rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "/", "ab", "*", "?", "x", "%C3%A4", "=", "*a"}), 0, 6).Draw(t, "parts")
		return rapid.SampledFrom([]string{"/", "/", "/", "*", ""}).Draw(t, "start") + strings.Join(parts, "") + rapid.SampledFrom([]string{"", "", "$"}).Draw(t, "end")
	})
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1:
			return rapid.SampledFrom([]string{"User-agent: ", "user-AGENT:", " User-Agent : "}).Draw(t, "key") + rapid.SampledFrom([]string{"*", "freshet", "Freshet/1.0", "other", "freshetbot", "* all"}).Draw(t, "agent")
		case 2:
			return rapid.SampledFrom([]string{"", "# a", "Crawl-delay: 3", "Sitemap: /a", "Noindex: /", "what is this"}).Draw(t, "other")
		case 3, 4, 5:
			return "Allow: " + pattern.Draw(t, "pattern")
		}
		return rapid.SampledFrom([]string{"Disallow: ", "disallow :", "\tDisallow:"}).Draw(t, "key") + pattern.Draw(t, "pattern") + rapid.SampledFrom([]string{"", " # a"}).Draw(t, "remark")
	})
}

// Rules are kept and read without a loss.
func TestRulesAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := strings.Join(rapid.SliceOfN(line(), 0, 24).Draw(t, "lines"), "\n")
		rules := robots.Parse([]byte(file)).For("freshet")
		text, err := json.Marshal(rules)
		if err != nil {
			t.Fatal(err)
		}
		var again robots.Rules
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if rules.Len() > 0 && !reflect.DeepEqual(*rules, again) {
			t.Fatalf("%s became %+v", text, again)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("User-agent: *\nCrawl-delay: 10\nDisallow: /*a*b$\n", "/a")
	f.Add("User-agent: freshet\r\nCrawl-delay: 1e9", "/%zz%4")
	f.Add("\xff\xfeU\x00", "*$")
	f.Fuzz(func(t *testing.T, file, path string) {
		rules := robots.Parse([]byte(file)).For("freshet")
		if d, asked := rules.CrawlDelay(); d < 0 || d > 1e6*time.Second || d > 0 && !asked {
			t.Errorf("delay = %v", d)
		}
		v := rules.Verdict(path)
		if !v.Allowed && (v.Rule.Line == 0 || v.Rule.Allow) {
			t.Errorf("%q is disallowed by %+v", path, v.Rule)
		}
		if !rules.Verdict("/robots.txt").Allowed {
			t.Error("the file itself is disallowed")
		}
	})
}

// hostile returns a file whose patterns are as bad as can be: what they ask for is all in
// the path, but not as often.
func hostile() string {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := 0; b.Len() < robots.MaxBytes-200; i++ {
		b.WriteString("Disallow: /")
		for bit := range 50 {
			b.WriteString([]string{"*ab", "*ba"}[i*2654435761>>(bit%32)&1])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// shop returns a file such as large shops have, and paths of such a shop.
func shop() (file string, paths []string) {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range 100 {
		fmt.Fprintf(&b, "Disallow: /part%d/private\nDisallow: /*?sort%d=\nAllow: /part%d/private/open$\n", i, i, i)
	}
	for i := range 1000 {
		paths = append(paths, fmt.Sprintf("/part%d/item-%d/details.html?colour=%d", i%200, i, i%7))
	}
	return b.String(), paths
}

// A pattern takes time by its length and that of the path, not by the ways in which its
// stars can be set.
func TestHostilePatterns(t *testing.T) {
	rules := robots.Parse([]byte(hostile())).For("freshet")
	began := time.Now()
	if !rules.Verdict("/" + strings.Repeat("ab", 45)).Allowed {
		t.Error("it is disallowed")
	}
	if took := time.Since(began); took > 5*time.Minute {
		t.Errorf("%d patterns took %v", rules.Len(), took)
	}
}

func BenchmarkVerdict(b *testing.B) {
	file, paths := shop()
	rules := robots.Parse([]byte(file)).For("freshet")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		rules.Verdict(paths[i%len(paths)])
	}
}

func BenchmarkLibrary(b *testing.B) {
	file, paths := shop()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		theirs(file, "freshet", paths[i%len(paths)])
	}
}

func BenchmarkHostile(b *testing.B) {
	rules := robots.Parse([]byte(hostile())).For("freshet")
	path := "/" + strings.Repeat("ab", 45)
	for b.Loop() {
		rules.Verdict(path)
	}
}

func BenchmarkParse(b *testing.B) {
	file := []byte(hostile())
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		robots.Parse(file).For("freshet")
	}
}
