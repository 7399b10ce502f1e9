package discovery_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet/crawl"
	"freshet/internal/test/tier"
)

// A site that is removed and added again while its pages are being found has the pages
// that it says then, all of them and no others. Whatever was under way is not an error.
func TestSiteIsRemovedAndAddedAgain(t *testing.T) {
	tier.Slow(t, "it crawls a site several times")
	for _, purge := range []bool{false, true} {
		t.Run(fmt.Sprintf("purge=%t", purge), func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				w := newWeb(map[string]string{
					"/": linking("home", "/guide/", "/old"), "/old": linking("old", "/older"), "/older": linking("older", "/guide/"),
					"/guide/": linking("guide", "/guide/a", "/old"), "/guide/a": linking("a", "/guide/b"), "/guide/b": linking("b", "/older"),
					"/sitemap.xml": listing("/", "/guide/a", "/guide/b", "/old"),
				})
				r := begin(t, dir, w, docs(crawl.Settings{}))
				defer r.stop()
				guide := docs(crawl.Settings{})
				guide.URL += "guide/"
				for i := range 25 { // at any moment
					pass(time.Duration(i) * 700 * time.Millisecond)
					if err := r.RemoveSource(t.Context(), "docs", purge); err != nil {
						t.Fatal(err)
					}
					next := docs(crawl.Settings{})
					if i%2 == 0 {
						next = guide
					}
					if _, err := r.AddSource(t.Context(), next); err != nil {
						t.Fatal(err)
					}
				}
				pass(2 * time.Minute)
				if at := slices.Sorted(maps.Keys(r.pages(t, "docs"))); !slices.Equal(at, []string{"/guide/a", "/guide/b"}) {
					t.Errorf("the pages are %v", at)
				}
				if status := r.Status(); int(status.Sources) != len(r.watched(t)) {
					t.Errorf("%d sources are counted, and there are %d", status.Sources, len(r.watched(t)))
				}
				if err := r.store.Check(t.Context()); err != nil {
					t.Error(err)
				}
				r.stop()
				for line := range strings.Lines(r.log.String()) {
					if strings.Contains(line, "level=ERROR") {
						t.Error(line)
					}
				}
			})
		})
	}
}
