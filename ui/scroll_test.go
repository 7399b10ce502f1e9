package ui_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

// fill stores so many sources that nobody polls, while no daemon runs.
func (r *rig) fill(n int) {
	r.Helper()
	store, err := sqlite.Open(r.Context(), sqlite.Config{Features: features.All(), Dir: r.settings.Data})
	if err != nil {
		r.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 256 {
		wg.Go(func() {
			for i := w; i < n; i += 256 {
				_, err := store.AddSource(r.Context(), freshet.Source{
					ID: freshet.SourceID(fmt.Sprintf("p%06d", i)), URL: fmt.Sprintf("https://host-%d.example/page/%d", i%300, i), Paused: true,
					Name: fmt.Sprintf("Page %d", i), Tags: []string{fmt.Sprintf("section-%d", i%97)},
				})
				if err != nil {
					r.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := store.Close(); err != nil {
		r.Fatal(err)
	}
}

// noteRows has a tab note when the first rows of a list are on the screen.
const noteRows = `new MutationObserver((_, o) => {
	if (document.querySelectorAll('.window .name').length <= 10) return;
	o.disconnect();
	requestAnimationFrame(() => setTimeout(() => { window.rowsAt = performance.now() }));
}).observe(document, {childList: true, subtree: true})`

// An opening is how long it took, in milliseconds, until a page showed something, and until it
// showed rows; and how many requests it made.
type opening struct {
	paint, rows float64
	requests    int
}

// openList opens the list of sources.
func (b *tab) openList() opening {
	b.Helper()
	b.visit("/sources", "window.rowsAt")
	return opening{
		eval[float64](b, `(performance.getEntriesByName('first-contentful-paint')[0] || {startTime: -1}).startTime`),
		eval[float64](b, "rowsAt"), eval[int](b, `performance.getEntriesByType('resource').length + 1`),
	}
}

// openLists opens the list of sources in so many new browsers, twice in each, and tells what the
// first time and the second took in the middle. It returns the last tab.
func (r *rig) openLists(times int) (b *tab) {
	r.Helper()
	var all [2][]opening
	for range times {
		b = r.tab(1440, 1000, "light")
		if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: noteRows}); err != nil {
			r.Fatal(err)
		}
		for i := range all {
			o := b.openList()
			if o.paint < 0 || o.requests > 10 {
				r.Errorf("the first paint came after %.0f ms and %d requests were made; want a paint, and 10 at most", o.paint, o.requests)
			}
			all[i] = append(all[i], o)
		}
	}
	middle := func(of []opening, value func(opening) float64) float64 {
		slices.SortFunc(of, func(a, b opening) int { return cmp.Compare(value(a), value(b)) })
		return value(of[len(of)/2])
	}
	for i, visit := range []string{"first", "second"} {
		r.Logf("%s visit, median of %d: first paint after %.0f ms, list shown after %.0f ms, %d requests", visit, times,
			middle(all[i], func(o opening) float64 { return o.paint }), middle(all[i], func(o opening) float64 { return o.rows }), all[i][0].requests)
	}
	return b
}

// The list of sources is there soon and is scrolled through to its end, by however many
// sources: only the rows in view exist, and the page is never busy for long. "make
// page-speed" does so with 100,000, and prints what it takes, also in the orders that are estimated.
func TestScrollThroughManySources(t *testing.T) {
	n, times := 3000, 1
	if many, err := strconv.Atoi(os.Getenv("FRESHET_SOURCES")); err == nil {
		n, times = many, 5
	}
	r := open(t, "127.0.0.1:0")
	r.stop()
	r.fill(n)
	r.serve()
	b := r.openLists(times)
	// A browser may write the height of many rows as 4.4e+06px.
	b.await(fmt.Sprintf("parseFloat(document.querySelector('.window')?.style.height) === %d", n*44))
	eval[bool](b, `(() => { window.tasks = []; new PerformanceObserver((l) => l.getEntries().forEach((e) => tasks.push(e.duration))).observe({type: 'longtask'});
		window.frames_ = 0; window.rows = 0; window.scrolled = false;
		const end = document.documentElement.scrollHeight, steps = 200; let i = 0;
		const step = () => { frames_++; rows = Math.max(rows, document.querySelectorAll('.window [role=row]').length);
			if (i++ < steps) { scrollTo(0, end * i / steps); requestAnimationFrame(step); } else scrolled = true; };
		requestAnimationFrame(step); return true; })()`)
	b.await("scrolled")
	b.await(fmt.Sprintf("document.querySelector('.window').textContent.includes('Page %d')", n-1))
	long, worst, rows := eval[int](b, "tasks.length"), eval[float64](b, "Math.max(0, ...tasks)"), eval[int](b, "rows")
	t.Logf("%d sources: scrolled in %d frames with %d long tasks, the longest %.0f ms; at most %d rows", n, eval[int](b, "frames_"), long, worst, rows)
	if rows > 100 {
		t.Errorf("%d rows existed at once, want those in view", rows)
	}
	for _, by := range []string{"rate", "captured"} {
		b.visit("/sources?sort="+by, "window.rowsAt")
		t.Logf("sorted by %s: list shown after %.0f ms", by, eval[float64](b, "rowsAt"))
	}
	b.clean("/sources")
}
