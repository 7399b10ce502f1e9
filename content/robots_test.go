package content_test

import (
	"strings"
	"testing"
	"time"

	"freshet/content"
)

func TestCrawlDelay(t *testing.T) {
	for _, c := range []struct {
		name, robots string
		want         time.Duration
	}{
		{"none", "User-agent: *\nDisallow: /private\n", 0},
		{"empty", "", 0},
		{"everybody", "User-agent: *\nCrawl-delay: 10\n", 10 * time.Second},
		{"a fraction", "User-agent: *\nCrawl-delay: 2.5", 2500 * time.Millisecond},
		{"written otherwise", "\ufeffUSER-AGENT : *\r\nCRAWL-DELAY:7 # seconds\r\n", 7 * time.Second},
		{"others", "User-agent: bingbot\nCrawl-delay: 10\n\nUser-agent: *\nDisallow:\n", 0},
		{"own comes before all", "User-agent: *\nCrawl-delay: 30\n\nUser-agent: Freshet\nCrawl-delay: 3\n", 3 * time.Second},
		{"own group without a delay", "User-agent: *\nCrawl-delay: 30\n\nUser-agent: freshet\nDisallow:\n", 0},
		{"own with a version", "User-agent: freshet/0.1\nCrawl-delay: 4\n", 4 * time.Second},
		{"a longer name is another", "User-agent: freshetbot\nCrawl-delay: 4\n", 0},
		{"one group for several", "User-agent: bingbot\nUser-agent: freshet\nDisallow: /x\nCrawl-delay: 5\n", 5 * time.Second},
		{"the next group is not ours", "User-agent: freshet\nCrawl-delay: 5\nUser-agent: slurp\nCrawl-delay: 60\n", 5 * time.Second},
		{"groups of one name add up", "User-agent: *\nCrawl-delay: 5\n\nUser-agent: a\nDisallow: /\n\nUser-agent: *\nCrawl-delay: 9\n", 9 * time.Second},
		{"before any group", "Crawl-delay: 5\nUser-agent: *\nDisallow:\n", 0},
		{"nonsense", "User-agent: *\nCrawl-delay: soon\n", 0},
		{"negative", "User-agent: *\nCrawl-delay: -5\n", 0},
		{"not a number", "User-agent: *\nCrawl-delay: NaN\n", 0},
		{"endless", "User-agent: *\nCrawl-delay: Inf\n", 1e6 * time.Second},
		{"an HTML page", "<!doctype html><html><body>Not found. Crawl-delay: 5</body></html>", 0},
		{"beyond the first 500 KiB", strings.Repeat("# filler\n", 60_000) + "User-agent: *\nCrawl-delay: 5\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := content.CrawlDelay([]byte(c.robots), "freshet"); got != c.want {
				t.Errorf("delay = %v, want %v", got, c.want)
			}
		})
	}
}

func FuzzCrawlDelay(f *testing.F) {
	f.Add("User-agent: *\nCrawl-delay: 10\n")
	f.Add("User-agent: freshet\r\nCrawl-delay: 1e9")
	f.Fuzz(func(t *testing.T, robots string) {
		if d := content.CrawlDelay([]byte(robots), "freshet"); d < 0 || d > 1e6*time.Second {
			t.Errorf("delay = %v", d)
		}
	})
}
