//go:build unix

package app_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/sched"
	"freshet/internal/sites/discovery"
	"freshet/internal/sites/frontier"
	"freshet/internal/store/sqlite"
)

// A maze is a site whose pages are found by links and by a sitemap.
type maze struct {
	*httptest.Server
	pages int
	asked atomic.Int64
	more  chan struct{} // holds one mark that somebody asked
}

func newMaze(t *testing.T, pages int) *maze {
	m := &maze{pages: pages, more: make(chan struct{}, 1)}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

// ServeHTTP answers with a page that links to three others, or with the sitemap, which
// lists every fifth page.
func (m *maze) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.asked.Add(1)
	select {
	case m.more <- struct{}{}:
	default:
	}
	var n int
	switch _, err := fmt.Sscanf(r.URL.Path, "/page/%d", &n); {
	case r.URL.Path == "/":
	case r.URL.Path == "/sitemap.xml":
		w.Header().Set("Content-Type", "application/xml")
		fmt.Fprint(w, "<urlset>")
		for i := 0; i < m.pages; i += 5 {
			fmt.Fprintf(w, "<url><loc>%s/page/%d</loc></url>", m.URL, i)
		}
		fmt.Fprint(w, "</urlset>")
		return
	case err != nil || n >= m.pages:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<html><body><h1>Page %d</h1>", n)
	words := strings.Fields("river spring flood bank stone bridge water mill reed heron otter trout")
	for i := range 12 { // no two pages say the same
		fmt.Fprintf(w, "<p>%s %s %s</p>", words[(n+i)%12], words[(n/12+i*i)%12], words[(n/144+i)%12])
	}
	for i := 1; i <= 3; i++ {
		fmt.Fprintf(w, `<a href="/page/%d">more</a> `, (3*n+i)%m.pages)
	}
}

// await returns when so many more requests have come.
func (m *maze) await(n int64) {
	for until := m.asked.Load() + n; m.asked.Load() < until; {
		<-m.more
	}
}

// mazeSettings are those of the node that watches a maze.
func mazeSettings(dir string) config.Settings {
	s := config.Defaults(func(string) string { return "" })
	s.Data, s.API.Listen = dir, "127.0.0.1:0"
	s.Fetch.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	s.Limits.Budget = sched.Budget{Polls: 500, Per: time.Second}
	s.Limits.Hosts = sched.Politeness{Concurrency: 4}
	s.Limits.SourceGap, s.Limits.SourceShare, s.Policy = 0, 1, "uniform"
	return s
}

// TestMazeChild is the daemon that TestKillWhileExploring kills.
func TestMazeChild(t *testing.T) {
	dir := os.Getenv("FRESHET_TEST_MAZE_DIR")
	if dir == "" {
		t.Skip("it is a part of another test")
	}
	if err := app.Serve(t.Context(), mazeSettings(dir), app.ServeConfig{Announce: func(string) error { return nil }}); err != nil {
		t.Fatal(err)
	}
}

// However often the daemon is killed while it looks for the pages of a site, none is
// there twice and none is missing.
func TestKillWhileExploring(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	t.Parallel()
	const kills = 50
	dir, m := t.TempDir(), newMaze(t, 400)
	chance := rand.New(rand.NewPCG(1, 2))
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMazeChild$")
		cmd.Env = append(os.Environ(), "FRESHET_TEST_MAZE_DIR="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.AddSource(t.Context(), freshet.Source{ID: "maze", URL: m.URL + "/", Site: &crawl.Settings{Depth: 100}}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for range kills {
		cmd := start()
		m.await(1 + chance.Int64N(12))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	cmd := start()
	for range 100 { // until it goes round in circles
		m.await(50)
		if counts := countsOf(t, dir); counts.Waiting == 0 && counts.Watched >= m.pages {
			break
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	checkMaze(t, dir, m)
}

// countsOf counts the pages of the maze, beside the daemon.
func countsOf(t *testing.T, dir string) frontier.Counts {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	counts, err := frontier.NewStore(store.DB()).CountPages(t.Context(), "maze")
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// checkMaze checks that every page of the maze is watched, once.
func checkMaze(t *testing.T, dir string, m *maze) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	watched := map[string]int{}
	for w, err := range store.Sources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if w.Of == "maze" && !w.Index {
			watched[strings.TrimPrefix(w.URL, m.URL)]++
		}
	}
	for i := range m.pages {
		if n := watched[fmt.Sprintf("/page/%d", i)]; n != 1 {
			page, err := frontier.NewStore(store.DB()).Page(t.Context(), "maze", fmt.Sprintf("%s/page/%d", m.URL, i))
			t.Errorf("page %d is watched %d times; it is %+v, %v", i, n, page, err)
		}
	}
	if len(watched) != m.pages {
		t.Errorf("%d pages are watched, want %d", len(watched), m.pages)
	}
	if report, err := discovery.Describe(t.Context(), store, frontier.NewStore(store.DB()), "maze"); err != nil || len(report.Traps) > 0 {
		t.Errorf("the site has traps: %+v, %v", report.Traps, err)
	}
	changes, err := store.Changes(t.Context(), freshet.ChangeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if c.Details.Page != "" {
			t.Errorf("%s is told as %s", c.Label.URL, c.Details.Page)
		}
	}
}
