package robots_test

import (
	"strings"
	"testing"
	"time"

	"freshet/internal/fetch/robots"
)

func TestVerdict(t *testing.T) {
	const everybody = "User-agent: *\n"
	for _, c := range []struct {
		name, file, path string
		want             string // the line that disallows; "" means allowed, "+" and a line that it allows
	}{
		{"no file", "", "/", ""},
		{"nothing disallowed", everybody + "Disallow:\n", "/a", ""},
		{"all", everybody + "Disallow: /\n", "/a", "Disallow: /"},
		{"the file itself", everybody + "Disallow: /\n", "/robots.txt", ""},
		{"not quite the file itself", everybody + "Disallow: /\n", "/robots.txt?a", "Disallow: /"},
		{"a prefix", everybody + "Disallow: /fish\n", "/fishheads/yummy.html?id=1", "Disallow: /fish"},
		{"another case", everybody + "Disallow: /fish\n", "/Fish.asp", ""},
		{"not at the beginning", everybody + "Disallow: /fish\n", "/a/fish", ""},
		{"without a path", everybody + "Disallow: /fish\n", "", ""},
		{"the root", everybody + "Disallow: /$\n", "", "Disallow: /$"},
		{"a query", everybody + "Disallow: /*?\n", "/a?b=c", "Disallow: /*?"},
		{"a URL", everybody + "Disallow: /a?b\n", "https://x.example/a?b=c#d", "Disallow: /a?b"},
		{"a URL without a path", everybody + "Disallow: /$\n", "https://x.example", "Disallow: /$"},
		{"a URL in the query", everybody + "Disallow: /a?u=http\n", "/a?u=http://x.example/b", "Disallow: /a?u=http"},

		{"longest", everybody + "Allow: /p\nDisallow: /\n", "/page", "+Allow: /p"},
		{"longest, the other way round", everybody + "Disallow: /\nAllow: /p\n", "/page", "+Allow: /p"},
		{"allow wins a tie", everybody + "Disallow: /folder\nAllow: /folder\n", "/folder/page", "+Allow: /folder"},
		{"a star counts", everybody + "Allow: /page\nDisallow: /*.htm\n", "/page.htm", "Disallow: /*.htm"},
		{"a tie with a star", everybody + "Allow: /page\nDisallow: /*.ph\n", "/page.php5", "+Allow: /page"},
		{"an end counts", everybody + "Allow: /$\nDisallow: /\n", "/", "+Allow: /$"},
		{"an end that is not", everybody + "Allow: /$\nDisallow: /\n", "/page.htm", "Disallow: /"},
		{"of two that are the same, the first", everybody + "Disallow: /a\nDisallow: /a\n", "/a", "Disallow: /a"},
		{"no longest of an index page", everybody + "Allow: /index.html\nDisallow: /*\n", "/", "Disallow: /*"},

		{"star in the middle", everybody + "Disallow: /a*z\n", "/a-b-z-y", "Disallow: /a*z"},
		{"star in the middle, too short", everybody + "Disallow: /abc*cde\n", "/abcde", ""},
		{"star at the end", everybody + "Disallow: /a*\n", "/a", "Disallow: /a*"},
		{"star first", everybody + "Disallow: *.gif\n", "/x.gif?y", "Disallow: *.gif"},
		{"star alone", everybody + "Disallow: *\n", "/x", "Disallow: *"},
		{"star and end", everybody + "Disallow: /*.gif$\n", "/x.gif", "Disallow: /*.gif$"},
		{"star and not the end", everybody + "Disallow: /*.gif$\n", "/x.gif?y", ""},
		{"the last of several", everybody + "Disallow: /*.gif$\n", "/x.gif.gif", "Disallow: /*.gif$"},
		{"an end that overlaps", everybody + "Disallow: /*aba*ba$\n", "/aba", ""},
		{"an end after a star", everybody + "Disallow: /a*$\n", "/abc", "Disallow: /a*$"},
		{"end not at the end", everybody + "Disallow: /a$b\n", "/a$bc", "Disallow: /a$b"},
		{"stars in a row", everybody + "Disallow: /a***b\n", "/a-b", "Disallow: /a***b"},
		{"no slash", everybody + "Disallow: private\n", "/private", ""},

		{"an escape of a letter", everybody + "Disallow: /%62%61%7A\n", "/baz", "Disallow: /%62%61%7A"},
		{"an escape in the path", everybody + "Disallow: /~joe\n", "/%7ejoe/", "Disallow: /~joe"},
		{"an escape of a slash", everybody + "Disallow: /a/b\n", "/a%2Fb", ""},
		{"upper and lower case of an escape", everybody + "Disallow: /a%2fb\n", "/a%2Fb", "Disallow: /a%2fb"},
		{"letters beyond ASCII", everybody + "Disallow: /foo/ツ\n", "/foo/%E3%83%84", "Disallow: /foo/ツ"},
		{"letters beyond ASCII in the path", everybody + "Disallow: /foo/%e3%83%84\n", "/foo/ツ", "Disallow: /foo/%e3%83%84"},
		{"a space", everybody + "Disallow: /a b\n", "/a%20b", "Disallow: /a b"},
		{"half an escape", everybody + "Disallow: /a%3z\n", "/a%3z", "Disallow: /a%3z"},
		{"an escape cut short", everybody + "Disallow: /a%3\n", "/a%3", "Disallow: /a%3"},
		{"an escaped star", everybody + "Disallow: /a-%2A.html\n", "/a-*.html", "Disallow: /a-%2A.html"},
		{"an escaped star is not a star", everybody + "Disallow: /a-%2A.html\n", "/a-b.html", ""},
		{"an escaped end", everybody + "Disallow: /foo-%24\n", "/foo-$x", "Disallow: /foo-%24"},
		{"in Latin 1", everybody + "Disallow: /caf\xe9\n", "/caf%E9", "Disallow: /caf%E9"},

		{"our own group", everybody + "Disallow: /\nUser-agent: Freshet\nDisallow: /a\n", "/b", ""},
		{"our own group alone", everybody + "Disallow: /b\nUser-agent: FRESHET\nDisallow: /a\n", "/a", "Disallow: /a"},
		{"our own group, with a version", "User-agent: freshet/1.0 (+https://x.example)\nDisallow: /a\n", "/a", "Disallow: /a"},
		{"our own group without rules", everybody + "Disallow: /\nUser-agent: freshet\nDisallow:\n", "/b", ""},
		{"a longer name", everybody + "Disallow:\nUser-agent: freshetbot\nDisallow: /\n", "/b", ""},
		{"a shorter name", everybody + "Disallow:\nUser-agent: fresh\nDisallow: /\n", "/b", ""},
		{"a star in a name", everybody + "Disallow:\nUser-agent: fresh*\nDisallow: /\nUser-agent: *bot\nDisallow: /\n", "/b", ""},
		{"a star with a remark", "User-agent: * everybody\nDisallow: /\n", "/b", "Disallow: /"},
		{"several names", "User-agent: a\nUser-agent: freshet\nUser-agent: b\nDisallow: /\n", "/b", "Disallow: /"},
		{"blank lines within a group", "User-agent: a\n\nUser-agent: freshet\n\n\nDisallow: /x\n\nDisallow: /b\n", "/b", "Disallow: /b"},
		{"groups of one name are one", "User-agent: freshet\nDisallow: /a\n\nUser-agent: b\nDisallow: /\n\nUser-agent: freshet\nDisallow: /b\n", "/b", "Disallow: /b"},
		{"what is no rule ends no group", "User-agent: freshet\nCrawl-delay: 5\nSitemap: /s.xml\nNoindex: /x\nUser-agent: b\nDisallow: /b\n", "/b", "Disallow: /b"},
		{"a rule ends the names", "User-agent: freshet\nDisallow: /a\nUser-agent: b\nDisallow: /b\n", "/b", ""},
		{"an empty rule, too", "User-agent: freshet\nDisallow:\nUser-agent: b\nDisallow: /b\n", "/b", ""},
		{"before any name", "Disallow: /\nUser-agent: freshet\nDisallow: /a\n", "/b", ""},
		{"nobody is meant", "User-agent:\nDisallow: /\n", "/b", ""},

		{"marks and spaces", "\ufeff \tUSER-AGENT \t:\t *  # all\r\n  disallow:/b# no\r\n", "/b", "Disallow: /b"},
		{"CR alone", "User-agent: *\rDisallow: /b\rAllow: /c", "/b", "Disallow: /b"},
		{"NUL bytes", "User-agent: *\x00\nDis\x00allow: /b\n", "/b", "Disallow: /b"},
		{"UTF-16, big end first", wide("\ufeffUser-agent: *\r\nDisallow: /ä\r\n", 1), "/%C3%A4", "Disallow: /ä"},
		{"UTF-16, little end first", wide("\ufeffUser-agent: *\nDisallow: /b\n", 0), "/b", "Disallow: /b"},
		{"UTF-16 without a mark", wide("User-agent: *\nDisallow: /b\n", 0), "/b", "Disallow: /b"},
		{"a slip", everybody + "Disalow: /\nDisallow /\n", "/b", ""},
		{"an HTML page", "\n<!-- x --><!DOCTYPE html><html><pre>\nUser-agent: *\nDisallow: /\n</pre></html>", "/b", ""},
		{"a tag that is none of a page", "<robots>\nUser-agent: *\nDisallow: /\n", "/b", "Disallow: /"},
		{"beyond the first 500 KiB", everybody + strings.Repeat("# filler\n", 60_000) + "Disallow: /b\n", "/b", ""},
		{"a line that the limit cuts", everybody + strings.Repeat("#", robots.MaxBytes-len(everybody)-len("\nDisallow: /")) + "\nDisallow: /private\n", "/b", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := robots.Parse([]byte(c.file)).For("freshet").Verdict(c.path)
			rule, allows := strings.CutPrefix(c.want, "+")
			if allowed := allows || c.want == ""; got.Allowed != allowed || got.Rule.String() != rule {
				t.Errorf("%q is allowed: %v, by %q on line %d, want %v by %q", c.path, got.Allowed, got.Rule, got.Rule.Line, allowed, rule)
			}
		})
	}
}

// wide returns a text in UTF-16; low is where the low bytes stand.
func wide(text string, low int) string {
	var b strings.Builder
	for _, r := range text {
		pair := [2]byte{byte(r >> 8), byte(r >> 8)}
		pair[low] = byte(r)
		b.Write(pair[:])
	}
	return b.String()
}

// The line that decided is that of the file, whatever ends its lines.
func TestLine(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		file := strings.Join([]string{"# a", "", "User-agent: *", "Disallow: /a", "", "Disallow: /b", "Disallow: /b"}, end)
		if got := robots.Parse([]byte(file)).For("freshet").Verdict("/b").Rule; got.Line != 6 {
			t.Errorf("with %q at the end of lines, line %d decided, want 6", end, got.Line)
		}
	}
}

func TestSitemaps(t *testing.T) {
	f := robots.Parse([]byte("Sitemap: https://x.example/a.xml\nUser-agent: *\nSITEMAP : /b.xml # b\nDisallow:\nsitemap: https://x.example/a.xml\nSitemap:\n"))
	if got, want := strings.Join(f.Sitemaps(), " "), "https://x.example/a.xml /b.xml https://x.example/a.xml"; got != want {
		t.Errorf("sitemaps %q, want %q", got, want)
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"none", "# all is well\nUser-agent: *\nDisallow: /a\nHost: x.example\nClean-param: a\nNoindex: /b\nCrawl-delay: 2.5\n", ""},
		{"no colon", "User-agent: *\nDisallow /a\n", `line 2: "Disallow /a" is not a line of a robots.txt: it has no colon`},
		{"a slip", "User-agent: *\nDisalow: /a\n", `line 2: "disalow" is not known; did you mean Disallow?`},
		{"unknown", "Whatever: 1\n", `line 1: "whatever" is not known`},
		{"no slash", "User-agent: *\nDisallow: a\n", `line 2: "a" matches nothing: a path begins with /`},
		{"nobody", "User-agent:\n", `line 1: User-agent without a name names no program`},
		{"no name", "User-agent: *bot\n", `line 1: "*bot" names no program`},
		{"before any name", "Disallow: /\n", `line 1: a rule before the first User-agent is for nobody`},
		{"a delay before any name", "Crawl-delay: 1\n", `line 1: a Crawl-delay before the first User-agent is for nobody`},
		{"a delay", "User-agent: *\nCrawl-delay: soon\n", `line 2: "soon" is not a number of seconds`},
		{"no delay", "User-agent: *\nCrawl-delay:\n", `line 2: nothing is not a number of seconds`},
		{"a page", "<html></html>", `this is an HTML page, not a robots.txt: it has no rules`},
		{"too long", strings.Repeat("#\n", robots.MaxBytes), `only the first 500 KiB count`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, p := range robots.Parse([]byte(c.file)).Problems() {
				got = append(got, p.String())
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("problems %s, want %s", text, c.want)
			}
		})
	}
	if n := len(robots.Parse([]byte(strings.Repeat("x\n", 1000))).Problems()); n != 100 {
		t.Errorf("%d problems are told, want 100", n)
	}
}

func TestCrawlDelay(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		name, file string
		want       time.Duration
	}{
		{"none", "User-agent: *\nDisallow: /private\n", none},
		{"empty", "", none},
		{"nothing", "User-agent: *\nCrawl-delay: 0\n", 0},
		{"everybody", "User-agent: *\nCrawl-delay: 10\n", 10 * time.Second},
		{"a fraction", "User-agent: *\nCrawl-delay: 2.5", 2500 * time.Millisecond},
		{"a fraction with a comma", "User-agent: *\nCrawl-delay: 2,5", 2500 * time.Millisecond},
		{"a unit", "User-agent: *\nCrawl-delay: 10s", 10 * time.Second},
		{"a unit in words", "User-agent: *\nCrawl-delay: 2 Minutes", 2 * time.Minute},
		{"no unit", "User-agent: *\nCrawl-delay: 2 fortnights", none},
		{"written otherwise", "\ufeffUSER-AGENT : *\r\nCRAWL-DELAY:7 # seconds\r\n", 7 * time.Second},
		{"others", "User-agent: bingbot\nCrawl-delay: 10\nDisallow: /a\n\nUser-agent: *\nDisallow:\n", none},
		{"own comes before all", "User-agent: *\nCrawl-delay: 30\nDisallow:\n\nUser-agent: Freshet\nCrawl-delay: 3\n", 3 * time.Second},
		{"own group without a delay", "User-agent: *\nCrawl-delay: 30\nDisallow:\n\nUser-agent: freshet\nDisallow:\n", none},
		{"own with a version", "User-agent: freshet/0.1\nCrawl-delay: 4\n", 4 * time.Second},
		{"a longer name is another", "User-agent: freshetbot\nCrawl-delay: 4\n", none},
		{"one group for several", "User-agent: bingbot\nUser-agent: freshet\nDisallow: /x\nCrawl-delay: 5\n", 5 * time.Second},
		{"one for each of a group", "User-agent: freshet\nCrawl-delay: 5\nUser-agent: slurp\nCrawl-delay: 60\n", 5 * time.Second},
		{"one for each of a group, the last", "User-agent: slurp\nCrawl-delay: 60\nUser-agent: freshet\nCrawl-delay: 5\n", 5 * time.Second},
		{"of the others of a group", "User-agent: slurp\nCrawl-delay: 60\nUser-agent: *\nDisallow: /a\n", time.Minute},
		{"groups of one name add up", "User-agent: *\nCrawl-delay: 5\n\nUser-agent: a\nDisallow: /\n\nUser-agent: *\nCrawl-delay: 9\n", 9 * time.Second},
		{"before any group", "Crawl-delay: 5\nUser-agent: *\nDisallow:\n", none},
		{"nonsense", "User-agent: *\nCrawl-delay: soon\n", none},
		{"negative", "User-agent: *\nCrawl-delay: -5\n", none},
		{"not a number", "User-agent: *\nCrawl-delay: NaN\n", none},
		{"endless", "User-agent: *\nCrawl-delay: 99999999999999999999\n", 1e6 * time.Second},
		{"an HTML page", "<!doctype html><html><body>Not found. Crawl-delay: 5</body></html>", none},
		{"beyond the first 500 KiB", strings.Repeat("# filler\n", 60_000) + "User-agent: *\nCrawl-delay: 5\n", none},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, asked := robots.Parse([]byte(c.file)).For("freshet").CrawlDelay()
			if !asked {
				got = none
			}
			if got != c.want {
				t.Errorf("delay = %v, want %v", got, c.want)
			}
		})
	}
}
