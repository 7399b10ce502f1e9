package ui_test

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	"freshet"
	"freshet/sqlite"
)

// fill stores so many sources that nobody polls, while no daemon runs.
func (r *rig) fill(n int) {
	r.Helper()
	store, err := sqlite.Open(r.Context(), sqlite.Config{Dir: r.settings.Data})
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

// The list of sources is there soon and is scrolled through to its end, by however many
// sources: only the rows in view exist, and the page is never busy for long. "make
// page-speed" does so with 100,000, and prints what it takes.
func TestScrollThroughManySources(t *testing.T) {
	n := 3000
	if many, err := strconv.Atoi(os.Getenv("FRESHET_SOURCES")); err == nil {
		n = many
	}
	r := open(t, "127.0.0.1:0")
	r.stop()
	r.fill(n)
	r.serve()
	b := r.tab(1440, 1000, "light")
	// A browser may write the height of many rows as 4.4e+06px.
	b.visit("/sources", fmt.Sprintf("parseFloat(document.querySelector('.window')?.style.height) === %d && document.querySelectorAll('.window [role=row]').length > 10", n*44))
	const ready = `(performance.getEntriesByName('first-contentful-paint')[0] || {startTime: -1}).startTime`
	paint, requests := eval[float64](b, ready), eval[int](b, `performance.getEntriesByType('resource').length + 1`)
	list := eval[float64](b, `performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/v1/sources?')).map((e) => e.responseEnd)[0]`)
	if paint < 0 || requests > 12 {
		t.Errorf("the first paint came after %.0f ms and %d requests were made; want a paint, and 12 at most", paint, requests)
	}
	eval[bool](b, `(() => { window.tasks = []; new PerformanceObserver((l) => l.getEntries().forEach((e) => tasks.push(e.duration))).observe({type: 'longtask'});
		window.frames_ = 0; window.rows = 0; window.scrolled = false;
		const end = document.documentElement.scrollHeight, steps = 200; let i = 0;
		const step = () => { frames_++; rows = Math.max(rows, document.querySelectorAll('.window [role=row]').length);
			if (i++ < steps) { scrollTo(0, end * i / steps); requestAnimationFrame(step); } else scrolled = true; };
		requestAnimationFrame(step); return true; })()`)
	b.await("scrolled")
	b.await(fmt.Sprintf("document.querySelector('.window').textContent.includes('Page %d')", n-1))
	long, worst, rows := eval[int](b, "tasks.length"), eval[float64](b, "Math.max(0, ...tasks)"), eval[int](b, "rows")
	t.Logf("%d sources: first paint after %.0f ms, list there after %.0f ms, %d requests; scrolled in %d frames with %d long tasks, the longest %.0f ms; at most %d rows",
		n, paint, list, requests, eval[int](b, "frames_"), long, worst, rows)
	if rows > 100 {
		t.Errorf("%d rows existed at once, want those in view", rows)
	}
	b.clean("/sources")
}
