package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/sites/frontier"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/diskfault"
	"freshet/internal/test/tier"
)

// shelfDir names the directory that the test binary writes to when it is run as the
// child of TestKillShelf.
const shelfDir = "FRESHET_TEST_SHELF_DIR"

// A shelfAck is what was acknowledged of the site of a crash test.
type shelfAck struct{ site, added, taken, gone int }

// shelve adds, takes and tells of pages of a site, and lets go of the whole site now
// and then, until something fails. It says what has been acknowledged.
func shelve(ctx context.Context, s *sqlite.Store, say func(shelfAck)) error {
	for site := 0; ; site++ {
		id := freshet.SourceID(fmt.Sprintf("site%d", site))
		base := fmt.Sprintf("https://%s.example/", id)
		_, err := s.AddSource(ctx, freshet.Source{ID: id, URL: base, Site: &crawl.Settings{}})
		if errors.Is(err, freshet.ErrConflict) {
			continue // of a run before
		}
		if err != nil {
			return err
		}
		ack := shelfAck{site: site}
		for n := range 6 {
			var pages []frontier.Page
			for i := range 300 {
				pages = append(pages, frontier.Page{URL: fmt.Sprintf("%s%d-%d", base, n, i), Found: crawl.BySitemap, Listed: noon})
			}
			added, _, err := frontier.NewStore(s.DB()).AddPages(ctx, id, pages)
			if err != nil {
				return err
			}
			ack.added += added
			say(ack)
			taken, err := frontier.NewStore(s.DB()).PromotePages(ctx, id, 40)
			if err != nil {
				return err
			}
			ack.taken += len(taken)
			say(ack)
			for _, src := range taken[:10] {
				if _, err := frontier.NewStore(s.DB()).Announce(ctx, src.ID, crawl.PageWent, noon, "gone"); err != nil {
					return err
				}
				ack.gone++
				say(ack)
			}
		}
		if site%2 == 1 {
			if err := s.RemoveSource(ctx, id, site%4 == 1); err != nil {
				return err
			}
		}
	}
}

// wholeShelf fails the test unless all that is stored is as it was written, every page
// has its site, every page that is watched its source, and the other way round, and
// what was acknowledged is there.
func wholeShelf(t *testing.T, s *sqlite.Store, ack shelfAck) {
	t.Helper()
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("after a crash: %v", err)
	}
	pages := map[freshet.SourceID]int{}
	sites, indexes := map[freshet.SourceID]bool{}, map[freshet.SourceID]bool{}
	for w, err := range s.Sources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if w.Site != nil {
			sites[w.ID] = true
			continue
		}
		if w.Of == "" {
			continue
		}
		if w.Index {
			indexes[w.Of] = true
			continue
		}
		pages[w.Of]++
		if p, err := frontier.NewStore(s.DB()).Page(t.Context(), w.Of, w.URL); err != nil || p.State != crawl.PageWatched || p.Source != w.ID {
			t.Errorf("source %s watches page %+v: %v", w.ID, p, err)
		}
	}
	for id := range sites {
		n, err := frontier.NewStore(s.DB()).CountPages(t.Context(), id)
		if err != nil || n.Watched != pages[id] {
			t.Errorf("site %s has %+v pages (%v), and %d of them are sources", id, n, err, pages[id])
		}
		delete(pages, id)
		delete(indexes, id)
	}
	if len(pages)+len(indexes) > 0 {
		t.Errorf("there are pages of sites that are not there: %v, and indexes: %v", pages, indexes)
	}
	id := freshet.SourceID(fmt.Sprintf("site%d", ack.site))
	if ack.added == 0 || !sites[id] { // it may have been removed since
		return
	}
	n, err := frontier.NewStore(s.DB()).CountPages(t.Context(), id)
	changes, problem := s.Changes(t.Context(), freshet.ChangeQuery{})
	told := 0
	for _, c := range changes {
		if strings.HasPrefix(string(c.Source), string(id)+".") && c.Details.Page == crawl.PageWent {
			told++
		}
	}
	removing := ack.site%2 == 1 && ack.added == 1800 && ack.gone == 60
	missing := n.Known() < ack.added || n.Watched+n.Gone < ack.taken || n.Gone < ack.gone
	untold := n.Gone > told || n.Gone < told && ack.site%2 == 0 // a site that was removed before has old changes
	if errors.Join(err, problem) != nil || (missing || untold) && !removing {
		t.Errorf("%+v was acknowledged, and there are %+v pages, %d of which are told to be gone: %v", ack, n, told, errors.Join(err, problem))
	}
}

// TestKillShelf kills a process that works with the pages of sites at random moments.
func TestKillShelf(t *testing.T) {
	rounds := tier.Seeds(2, 4, 10)
	if raced {
		rounds = 2
	}
	dir := t.TempDir()
	for range rounds {
		ack := killedShelf(t, dir)
		s := open(t, sqlite.Config{Dir: dir})
		wholeShelf(t, s, ack)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killedShelf runs the child until it has acknowledged some random number of steps.
func killedShelf(t *testing.T, dir string) (last shelfAck) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), shelfDir+"="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until := rand.IntN(200)
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		var a shelfAck
		if _, err := fmt.Sscanf(lines.Text(), "acked %d %d %d %d.", &a.site, &a.added, &a.taken, &a.gone); err == nil && strings.HasSuffix(lines.Text(), ".") {
			last = a
		}
		if n == until {
			time.Sleep(rand.N(3 * time.Millisecond)) // within what it does next
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child ended by itself: %v\n%s", err, stderr.String())
	}
	return last
}

// shelveUntilKilled is the child of TestKillShelf.
func shelveUntilKilled(dir string) error {
	s, err := sqlite.Open(context.Background(), sqlite.Config{Dir: dir, Features: features.All()})
	if err != nil {
		return err
	}
	return shelve(context.Background(), s, func(a shelfAck) { fmt.Printf("acked %d %d %d %d.\n", a.site, a.added, a.taken, a.gone) })
}

// TestPowerLossOfShelf cuts the power at one write or sync after another while pages
// of sites are added, taken, told of and removed.
func TestPowerLossOfShelf(t *testing.T) {
	tier.Slow(t, "it cuts the power hundreds of times")
	step := int64(tier.Seeds(400, 151, 61))
	if raced {
		step = 400
	}
	for cut := int64(5); cut < 2500; cut += step {
		r := newRig(t, uint64(cut))
		var calls atomic.Int64
		s, err := r.open(t)
		if err != nil {
			t.Fatal(err)
		}
		r.disk.SetHook(func(c diskfault.Call) error {
			if (c.Op == diskfault.Write || c.Op == diskfault.Sync) && calls.Add(1) == cut {
				r.disk.PowerLoss()
			}
			return nil
		})
		var last shelfAck
		if err := shelve(t.Context(), s, func(a shelfAck) { last = a }); err == nil {
			t.Fatal("it goes on without power")
		}
		_ = s.Close()
		r.disk.PowerLoss()
		r.disk.SetHook(nil)
		if s, err = r.open(t); err != nil {
			t.Fatalf("after a power loss at %d: %v", cut, err)
		}
		wholeShelf(t, s, last)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A site goes in many transactions. Wherever that is cut off, also while pages are being
// found and taken, each page is on the shelf of a site that is there or on none, and what
// is left can be taken and removed as before.
func TestPowerLossWhileASiteGoes(t *testing.T) {
	tier.Slow(t, "it cuts the power hundreds of times")
	const pages = 230
	site := freshet.Source{ID: "docs", URL: "https://docs.example/", Site: &crawl.Settings{}}
	ways := map[string]func(context.Context, *sqlite.Store) error{
		"removed": func(ctx context.Context, s *sqlite.Store) error { return s.RemoveSource(ctx, "docs", false) },
		"purged":  func(ctx context.Context, s *sqlite.Store) error { return s.RemoveSource(ctx, "docs", true) },
		"no site any more": func(ctx context.Context, s *sqlite.Store) error {
			return s.UpdateSource(ctx, freshet.Source{ID: "docs", URL: site.URL})
		},
	}
	for name, leave := range ways {
		t.Run(name, func(t *testing.T) {
			step, gone := int64(tier.Seeds(90, 47, 29)), false
			if raced {
				step = 90
			}
			for cut := int64(2); !gone; cut += step {
				r := newRig(t, uint64(cut))
				s, err := r.open(t)
				if err != nil {
					t.Fatal(err)
				}
				stock(t, s, site, pages)
				r.cutAt(cut)
				busy := make(chan struct{})
				go func() {
					defer close(busy)
					for n := 0; ; n++ {
						_, _, err := frontier.NewStore(s.DB()).AddPages(t.Context(), "docs", []frontier.Page{{URL: fmt.Sprintf("%slate%d", site.URL, n), Found: crawl.ByLink}})
						if err == nil {
							_, err = frontier.NewStore(s.DB()).PromotePages(t.Context(), "docs", 1)
						}
						if err != nil {
							return
						}
					}
				}()
				gone = leave(t.Context(), s) == nil
				<-busy
				_ = s.Close()
				r.disk.PowerLoss()
				r.disk.SetHook(nil)
				if s, err = r.open(t); err != nil {
					t.Fatalf("after a power loss at %d: %v", cut, err)
				}
				wholeShelf(t, s, shelfAck{})
				left(t, s, site, gone || name == "no site any more")
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if t.Failed() {
					t.Fatalf("the power was cut at write %d", cut)
				}
			}
		})
	}
}

// cutAt cuts the power at a write or sync from now on.
func (r *rig) cutAt(cut int64) {
	var calls atomic.Int64
	r.disk.SetHook(func(c diskfault.Call) error {
		if (c.Op == diskfault.Write || c.Op == diskfault.Sync) && calls.Add(1) == cut {
			r.disk.PowerLoss()
		}
		return nil
	})
}

// stock adds a site with pages that are watched, and an index.
func stock(t *testing.T, s *sqlite.Store, site freshet.Source, n int) {
	t.Helper()
	_, err := s.AddSource(t.Context(), site)
	if err == nil {
		index := site.Page("docs.0", site.URL+"sitemap.xml")
		index.Index = true
		_, err = s.AddSource(t.Context(), index)
	}
	var pages []frontier.Page
	for i := range n {
		pages = append(pages, frontier.Page{URL: fmt.Sprint(site.URL, i), Found: crawl.BySitemap})
	}
	if err == nil {
		_, _, err = frontier.NewStore(s.DB()).AddPages(t.Context(), site.ID, pages)
	}
	if err == nil {
		_, err = frontier.NewStore(s.DB()).PromotePages(t.Context(), site.ID, n)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// left fails the test unless a site that is gone has left nothing behind, and one that
// is there can be used, and removed for good.
func left(t *testing.T, s *sqlite.Store, site freshet.Source, gone bool) {
	t.Helper()
	n, err := frontier.NewStore(s.DB()).CountPages(t.Context(), site.ID)
	switch {
	case !gone && err == nil:
		if taken, err := frontier.NewStore(s.DB()).PromotePages(t.Context(), site.ID, 1000); err != nil || len(taken) != n.Waiting {
			t.Errorf("of %d pages that wait, %d can be taken: %v", n.Waiting, len(taken), err)
		}
		if err := s.RemoveSource(t.Context(), site.ID, true); err != nil {
			t.Error(err)
		}
	case err == nil && n.Known() > 0:
		w, _ := s.Source(t.Context(), site.ID)
		if w.Site == nil {
			t.Errorf("%+v pages are left of a site that is gone", n)
		}
	case err != nil && !errors.Is(err, freshet.ErrNotFound):
		t.Error(err)
	}
	wholeShelf(t, s, shelfAck{})
}
