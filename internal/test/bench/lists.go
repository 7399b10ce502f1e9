package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/sched"
	"freshet/internal/store/sqlite"
)

// A Lists asks a daemon that has many sources and polls for its lists, as the page does,
// and holds each answer against the bare SQL query that finds the same rows in the file.
type Lists struct {
	Plan     Plan
	Daemon   []string // the command that starts one: it is given serve and --config
	Versions int      // of all sources together
	Budget   sched.Budget
	Length   time.Duration
	Keep     string // directory for the store, which is used again if it is there; "" means none

	Say func(format string, args ...any) // prints progress
}

// A ListAsked is how long a list took.
type ListAsked struct {
	Name  string  `json:"list"`
	Asked int     `json:"asked"`
	Bytes int     `json:"bytes"`
	P50   float64 `json:"p50_ms"`
	P95   float64 `json:"p95_ms"`
	Most  float64 `json:"most_ms"`
	SQL   float64 `json:"sql_p50_ms,omitempty"` // the bare query, in the same moments; 0 if there is none
	Ratio float64 `json:"ratio,omitempty"`      // of the medians
}

// A ListsResult is how all of them did.
type ListsResult struct {
	Sources  int         `json:"sources"`
	Versions int         `json:"versions"`
	Start    float64     `json:"start_seconds"`  // of the daemon, until it answers
	First    float64     `json:"first_list_ms"`  // the first list that it is asked for
	Rate     float64     `json:"polls_a_second"` // meanwhile
	Failed   int64       `json:"failed_polls"`
	RSS      int64       `json:"rss_bytes"`
	Heap     int64       `json:"heap_bytes"`
	P95      float64     `json:"p95_ms"` // of all requests together
	Lists    []ListAsked `json:"lists"`
	Load     float64     `json:"load_average"`
}

// Run builds a store, starts a daemon over it and asks.
func (b *Lists) Run(ctx context.Context) (r ListsResult, err error) {
	dir := b.Keep
	if dir == "" {
		if dir, err = os.MkdirTemp(b.Plan.Dir, "freshet-bench-"); err != nil {
			return r, fmt.Errorf("create a temporary directory: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	origin, err := b.prepare(ctx, dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, origin.stop()) }()
	b.Say("starting a daemon that polls at %s", b.Budget)
	began := time.Now()
	d, err := launch(ctx, b.Daemon, dir, b.Plan.settings(b.Budget), nil)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.running(ctx); err != nil {
		return r, err
	}
	r = ListsResult{Sources: b.Plan.Sources, Versions: b.Versions, Start: time.Since(began).Seconds()}
	err = b.measure(ctx, d, &r)
	return r, err
}

// buildAtOnce is how many things are stored in one transaction.
const buildAtOnce = 4096

// build makes a store with a history: sources with names, tags and many hosts, of which
// some are paused and some fail, and versions spread evenly over them.
func (b *Lists) build(ctx context.Context, dir string, urls []string) (err error) {
	store, err := sqlite.Open(ctx, sqlite.Config{Dir: dir, Features: features.All(), Batch: buildAtOnce, FlushEvery: 1 << 18})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	group, adding := limited(ctx, buildAtOnce)
	for i, url := range urls {
		group.Go(func() error {
			_, err := store.AddSource(adding, freshet.Source{
				ID: sourceID(i), URL: url, Name: fmt.Sprintf("Page %d of section %d", i, i%97),
				Tags: []string{fmt.Sprintf("section-%d", i%97), []string{"news", "docs", "prices"}[i%3]}, Paused: i%50 == 49,
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	each := max(1, b.Versions/max(1, len(urls)))
	first := time.Now().Add(-time.Duration(each+2) * 12 * time.Hour)
	within := func(i int) time.Duration { return time.Duration(i*7919%43200) * time.Second }
	inTime := make([]int, len(urls)) // as a log is
	for i := range inTime {
		inTime[i] = i
	}
	slices.SortFunc(inTime, func(i, j int) int { return cmp.Compare(within(i), within(j)) })
	for n := 1; n <= each; n++ {
		group, committing := limited(ctx, buildAtOnce)
		for _, i := range inTime {
			group.Go(func() error {
				at := first.Add(time.Duration(n)*12*time.Hour + within(i))
				return commitVersion(committing, store, i, n, at, n == each && i%33 == 32)
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// commitVersion stores the nth version of a source, and a failed poll after it if it fails.
func commitVersion(ctx context.Context, store *sqlite.Store, i, n int, at time.Time, fails bool) error {
	text := fmt.Appendf(nil, "Page %d\nversion %d\nsaid %x of it\n", i, n, i*n)
	o := freshet.Outcome{Source: sourceID(i), Since: at.Add(-12 * time.Hour), Began: at, Ended: at.Add(50 * time.Millisecond), Result: freshet.Changed, Status: 200, Requests: 1}
	_, _, err := store.Commit(ctx, freshet.Record{Outcome: o, Capture: &freshet.Capture{
		Recipe: reading.Recipe{}.Key(), Text: text, Hash: freshet.HashOf(text), Title: fmt.Sprintf("Title of page %d", i), Summary: fmt.Sprintf("version %d", n),
		Raw: freshet.Raw{Status: 200, URL: "http://page.example/", Body: text},
	}})
	if err != nil || !fails {
		return err
	}
	o.Began, o.Ended, o.Result, o.Status, o.Failure, o.Err = at.Add(time.Hour), at.Add(time.Hour+time.Second), freshet.Failed, 500, failure.HTTP+".500", "500 Internal Server Error"
	_, _, err = store.Commit(ctx, freshet.Record{Outcome: o})
	return err
}

// running waits until the daemon polls.
func (d *daemon) running(ctx context.Context) error {
	for {
		s, err := d.api.Status(ctx)
		if err != nil || s.Running {
			return err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// measure asks for one list after the other until the time is over.
func (b *Lists) measure(ctx context.Context, d *daemon, r *ListsResult) (err error) {
	file, err := openBare(filepath.Join(d.data, "freshet.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	first, _, err := d.read(ctx, "/api/v1/sources?named=true&next=true&total=true&limit=200")
	if err != nil {
		return err
	}
	r.First = first
	lists := listsOf(b.Plan.Sources, b.Plan.Port)
	took, bare := make([][]float64, len(lists)), make([][]float64, len(lists))
	r.Lists = make([]ListAsked, len(lists))
	before, err := d.sample(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	b.Say("asking for %d lists, one after the other, for %v", len(lists), b.Length)
	for n := 0; time.Since(began) < b.Length; n++ {
		i := n % len(lists)
		ms, size, err := d.read(ctx, lists[i].path(n/len(lists)))
		if err != nil {
			return err
		}
		took[i], r.Lists[i].Bytes = append(took[i], ms), size
		if lists[i].sql != "" {
			ms, err := file.ask(ctx, lists[i].sql, n/len(lists))
			if err != nil {
				return fmt.Errorf("the bare query of %s: %w", lists[i].name, err)
			}
			bare[i] = append(bare[i], ms)
		}
	}
	seconds := time.Since(began).Seconds()
	after, err := d.sample(ctx)
	if err != nil {
		return err
	}
	r.Rate, r.Failed = float64(after.Polls-before.Polls)/seconds, after.Failed-before.Failed
	r.RSS, r.Heap, r.Load = after.RSS, after.Heap, loadAverage()
	var all []float64
	for i := range lists {
		all = append(all, took[i]...)
		a := &r.Lists[i]
		a.Name, a.Asked = lists[i].name, len(took[i])
		a.P50, a.P95, a.Most = quantile(took[i], 0.5), quantile(took[i], 0.95), quantile(took[i], 1)
		a.SQL = quantile(bare[i], 0.5)
		a.Ratio = ratio(a.P50, a.SQL)
	}
	r.P95 = quantile(all, 0.95)
	return nil
}

// quantile returns a quantile of values, which it sorts; zero if there are none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(len(values)-1, int(q*float64(len(values))))]
}

// read reads an answer whole, and returns how many milliseconds that took and its size.
func (d *daemon) read(ctx context.Context, path string) (ms float64, size int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base+path, nil)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	resp, err := d.do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	took := time.Since(began)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %d: %s", path, resp.StatusCode, body)
	}
	return float64(took.Microseconds()) / 1000, len(body), err
}
