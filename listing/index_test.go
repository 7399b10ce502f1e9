package listing_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/listing"
)

var start = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

func day(n int) time.Time { return start.AddDate(0, 0, n) }

// A store keeps pieces as a database would.
type store map[uint32][]byte

func (s store) save(x *listing.Index) (written int) {
	put, drop := x.Unsaved()
	for _, n := range drop {
		delete(s, n)
	}
	for _, p := range put {
		s[p.Number] = slices.Clone(p.Data)
		written += len(p.Data)
	}
	x.Saved()
	return written
}

func (s store) pieces() (all []listing.Piece) {
	for n, data := range s {
		all = append(all, listing.Piece{Number: n, Data: data})
	}
	return all
}

func (s store) load(t require) *listing.Index {
	x, err := listing.Load(s.pieces())
	if err != nil {
		t.Fatal(err)
	}
	return x
}

type require interface{ Fatal(...any) }

func url(n int) string { return fmt.Sprintf("https://a.example/page/%d", n) }

// A reading says what is new, dated anew and gone, and counts only if it is kept.
func TestReading(t *testing.T) {
	x := new(listing.Index)
	r := x.Read(start)
	r.See(url(1), day(-3))
	r.See(url(2), time.Time{})
	r.See(url(3), day(-1))
	first := r.End(true)
	if len(first.Added) != 3 || first.Added[0].URL != url(1) || first.Added[2].Date != day(-1) || len(first.Redated)+len(first.Gone) > 0 {
		t.Errorf("at first: %+v", first)
	}
	if x.Len() != 0 {
		t.Error("a reading counts before it is kept")
	}
	r.Keep()

	r = x.Read(day(1))
	r.See("HTTPS://A.example:443/page/1#top", day(1))
	r.See(url(2), time.Time{})
	r.See(url(4), time.Time{})
	want := listing.Changes{
		Added:   []listing.Added{{Key: listing.KeyOf(url(4)), URL: url(4)}},
		Redated: []listing.Redated{{Key: listing.KeyOf(url(1)), URL: "HTTPS://A.example:443/page/1#top", Old: day(-3), New: day(1)}},
		Gone:    []listing.Gone{{Key: listing.KeyOf(url(3)), Date: day(-1), Since: start}},
	}
	if diff := cmp.Diff(want, r.End(true)); diff != "" {
		t.Error(diff)
	}
	if got := r.End(false); len(got.Gone) > 0 || len(got.Added) != 1 {
		t.Errorf("of a list that broke off: %+v", got)
	}
	r.Keep()
	if x.Len() != 4 {
		t.Errorf("%d pages after a list that broke off, want 4", x.Len())
	}
	if date, since, ok := x.Page(listing.KeyOf(url(1))); !ok || date != day(1) || since != start {
		t.Errorf("page 1: %v, %v, %v", date, since, ok)
	}
	if _, since, ok := x.Page(listing.KeyOf(url(4))); !ok || since != day(1) {
		t.Errorf("page 4: %v, %v", since, ok)
	}
	if _, _, ok := x.Page(listing.KeyOf(url(5))); ok {
		t.Error("page 5 is listed")
	}
}

// Of a page that is listed twice the newest date counts, in whatever order.
func TestListedTwice(t *testing.T) {
	for _, dates := range [][]int{{0, 1}, {1, 0}, {-1, 0}, {0, -1}, {2, 1, 0, 1, 2}, {-1, -2}} {
		x := new(listing.Index)
		for range 2 {
			r := x.Read(start)
			r.See(url(1), day(0))
			r.End(true)
			r.Keep()
		}
		r := x.Read(start)
		for _, d := range dates {
			r.See(url(1), day(d))
			r.See(url(2), day(d))
		}
		c := r.End(true)
		newest := day(slices.Max(dates))
		if len(c.Added) != 1 || c.Added[0].Date != newest {
			t.Errorf("%v: added %+v", dates, c.Added)
		}
		if changed := newest != day(0); len(c.Redated) == 0 == changed || changed && c.Redated[0].New != newest {
			t.Errorf("%v: dated anew %+v", dates, c.Redated)
		}
	}
}

// known is what a map says of a page.
type known struct{ date, since time.Time }

// Whatever is read, kept, saved and loaded, an index says what a map would.
func TestIndexIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, model, disk := new(listing.Index), map[string]known{}, store{}
		pages := rapid.SampledFrom([]int{3, 40, 1000}).Draw(t, "pages")
		for step := range rapid.IntRange(1, 12).Draw(t, "readings") {
			now := start.Add(time.Duration(step) * time.Hour)
			seed := rapid.Uint64().Draw(t, "seed")
			rng := rand.New(rand.NewPCG(seed, 1))
			share := rapid.Float64Range(0, 1).Draw(t, "share")
			read := map[string]time.Time{}
			r := x.Read(now)
			for n := range pages {
				if rng.Float64() > share {
					continue
				}
				date := time.Time{}
				if k := rng.IntN(5); k > 0 {
					date = day(-k)
				} else if rng.IntN(2) == 0 {
					date = model[url(n)].date
				}
				r.See(url(n), date)
				read[url(n)] = date
			}
			complete := rapid.Bool().Draw(t, "complete")
			check(t, model, read, complete, r.End(complete))
			if rapid.IntRange(0, 4).Draw(t, "keep") == 0 {
				continue
			}
			r.Keep()
			for u, date := range read {
				k, ok := model[u]
				if !ok {
					k.since = now
				}
				k.date = date
				model[u] = k
			}
			if complete {
				maps.DeleteFunc(model, func(u string, _ known) bool { _, ok := read[u]; return !ok })
			}
			same(t, model, x)
			switch rapid.IntRange(0, 3).Draw(t, "save") {
			case 0:
				disk.save(x)
				x = disk.load(t)
				same(t, model, x)
			case 1:
				disk.save(x)
				same(t, model, disk.load(t))
			case 2: // what could not be stored is returned again
				x.Unsaved()
			}
		}
		disk.save(x)
		same(t, model, disk.load(t))
		if put, drop := x.Unsaved(); len(put)+len(drop) > 0 {
			t.Fatal("there is something to save after it was saved")
		}
	})
}

// check holds what a reading says against what a map says.
func check(t *rapid.T, model map[string]known, read map[string]time.Time, complete bool, c listing.Changes) {
	added, redated, gone := 0, 0, 0
	for u, date := range read {
		if k, ok := model[u]; !ok {
			added++
		} else if k.date != date {
			redated++
		}
	}
	for u := range model {
		if _, ok := read[u]; !ok && complete {
			gone++
		}
	}
	if len(c.Added) != added || len(c.Redated) != redated || len(c.Gone) != gone {
		t.Fatalf("%d added, %d dated anew, %d gone; want %d, %d, %d", len(c.Added), len(c.Redated), len(c.Gone), added, redated, gone)
	}
	for _, a := range c.Added {
		if _, ok := model[a.URL]; ok || read[a.URL] != a.Date || a.Key != listing.KeyOf(a.URL) {
			t.Fatalf("added %+v", a)
		}
	}
	for _, r := range c.Redated {
		if model[r.URL].date != r.Old || read[r.URL] != r.New || r.Old.Equal(r.New) {
			t.Fatalf("dated anew %+v", r)
		}
	}
}

func same(t *rapid.T, model map[string]known, x *listing.Index) {
	if x.Len() != len(model) {
		t.Fatalf("%d pages, want %d", x.Len(), len(model))
	}
	for u, k := range model {
		if date, since, ok := x.Page(listing.KeyOf(u)); !ok || date != k.date || since != k.since {
			t.Fatalf("%s: %v, %v, %v; want %+v", u, date, since, ok, k)
		}
	}
}

// filled returns an index of n pages, saved.
func filled(n int) (*listing.Index, store) {
	x, disk := new(listing.Index), store{}
	r := x.Read(start)
	for i := range n {
		r.See(url(i), day(-i%900))
	}
	r.End(true)
	r.Keep()
	disk.save(x)
	return x, disk
}

// What is written is what changed, not the whole.
func TestWritesWhatChanged(t *testing.T) {
	const n = 50_000
	x, disk := filled(n)
	whole := 0
	for _, data := range disk {
		whole += len(data)
	}
	t.Logf("%d bytes a page in storage", whole/n)
	if whole > 20*n {
		t.Errorf("%d pages take %d bytes", n, whole)
	}
	if r := x.Read(day(1)); true {
		for i := range n {
			r.See(url(i), day(-i%900))
		}
		r.End(true)
		r.Keep()
	}
	if written := disk.save(x); written != 0 {
		t.Errorf("%d bytes are written of a reading that changes nothing", written)
	}
	total := 0
	for round := range 200 {
		r := x.Read(day(round))
		for i := range 10 {
			r.See(url(round*10+i), day(round+1))
		}
		r.End(false)
		r.Keep()
		written := disk.save(x)
		total += written
		if written > 5<<10 {
			t.Errorf("round %d: %d bytes are written of 10 changes", round, written)
		}
	}
	t.Logf("%d bytes are written of 10 changes in %d pages, on average; %d pieces", total/200, n, len(disk))
	if len(disk) > 40 {
		t.Errorf("there are %d pieces", len(disk))
	}
	same := disk.load(t)
	if date, _, _ := same.Page(listing.KeyOf(url(1999))); same.Len() != n || date != day(200) {
		t.Errorf("%d pages, the last of %v", same.Len(), date)
	}
}

// Whoever loads an index for every reading and saves it again writes no more, and has no
// more pieces.
func TestLoadedForEveryReading(t *testing.T) {
	const n = 5000
	_, disk := filled(n)
	for round := range 100 {
		x := disk.load(t)
		r := x.Read(day(round))
		r.See(url(round), day(round+1))
		r.End(false)
		r.Keep()
		if written := disk.save(x); written > 5<<10 {
			t.Errorf("round %d: %d bytes are written of one change", round, written)
		}
	}
	if len(disk) > 5 {
		t.Errorf("there are %d pieces", len(disk))
	}
}

// The log does not grow for ever, and the pieces before a new base are deleted.
func TestCompaction(t *testing.T) {
	const n = 5000
	x, disk := filled(n)
	most := 0
	for round := range 100 {
		r := x.Read(day(round))
		for i := range n {
			r.See(url(i), day(round+i%2))
		}
		r.End(true)
		r.Keep()
		disk.save(x)
		size := 0
		for _, data := range disk {
			size += len(data)
		}
		most = max(most, size)
	}
	if most > 60*n {
		t.Errorf("%d pages took up to %d bytes", n, most)
	}
	if disk.load(t).Len() != n {
		t.Error("pages were lost")
	}
}

// Every damage is found, of every byte and of every piece.
func TestDamageIsFound(t *testing.T) {
	x, disk := filled(100)
	r := x.Read(day(2))
	r.See(url(1), day(2))
	r.See(url(1000), day(2))
	r.End(false)
	r.Keep()
	disk.save(x)
	if len(disk) != 3 {
		t.Fatalf("%d pieces, want a head, a base and a log", len(disk))
	}
	whole := disk.pieces()
	for i, p := range whole {
		for at := range p.Data {
			damaged := slices.Clone(whole)
			damaged[i].Data = bytes.Clone(p.Data)
			damaged[i].Data[at] ^= 0x10
			if _, err := listing.Load(damaged); !errors.Is(err, listing.ErrDamaged) {
				t.Fatalf("byte %d of piece %d: %v", at, p.Number, err)
			}
		}
		if _, err := listing.Load(slices.Delete(slices.Clone(whole), i, i+1)); !errors.Is(err, listing.ErrDamaged) {
			t.Errorf("without piece %d: %v", p.Number, err)
		}
	}
	// An old copy of the log is not that of this head.
	old := store{}
	maps.Copy(old, disk)
	r = x.Read(day(3))
	r.See(url(2), day(3))
	r.End(false)
	r.Keep()
	disk.save(x)
	old[0] = disk[0]
	if _, err := listing.Load(old.pieces()); !errors.Is(err, listing.ErrDamaged) {
		t.Errorf("an old log: %v", err)
	}
	// Pieces that no longer count do no harm.
	disk[99] = []byte("left over")
	if x, err := listing.Load(disk.pieces()); err != nil || x.Len() != 101 {
		t.Errorf("with a piece left over: %v", err)
	}
}

func FuzzLoad(f *testing.F) {
	x, disk := filled(20)
	r := x.Read(day(2))
	r.See(url(1), day(2))
	r.See(url(1000), time.Time{})
	r.End(true)
	r.Keep()
	disk.save(x)
	f.Add(disk[0], disk[1], disk[2])
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		mended := []listing.Piece{{Number: 0, Data: listing.Mend(a)}, {Number: 1, Data: listing.Mend(b)}, {Number: 2, Data: listing.Mend(c)}}
		x, err := listing.Load(mended)
		if err != nil {
			return
		}
		r := x.Read(day(9))
		r.See(url(1), day(9))
		r.End(true)
		r.Keep()
		again := store{}
		for _, p := range mended {
			again[p.Number] = p.Data
		}
		again.save(x)
		if y := again.load(t); y.Len() != 1 {
			t.Errorf("%d pages", y.Len())
		}
	})
}

func TestNormal(t *testing.T) {
	tests := []struct{ in, want string }{
		{"https://a.example/b?c=d", "https://a.example/b?c=d"},
		{"HTTPS://A.Example", "https://a.example/"},
		{"http://a.example:80?q", "http://a.example/?q"},
		{"https://a.example:443/#top", "https://a.example/"},
		{"https://a.example:8443/B", "https://a.example:8443/B"},
		{"https://a.example/%7eb/%c3%a4%2F", "https://a.example/~b/%C3%A4%2F"},
		{"https://a.example/ä b", "https://a.example/%C3%A4%20b"},
		{"/relative?u=http://X/", "/relative?u=http://X/"},
	}
	for _, tt := range tests {
		if got := listing.Normal(tt.in); got != tt.want {
			t.Errorf("%s is %s, want %s", tt.in, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`(HTTP|https)://[Aa.:0-9é]{1,8}[/?#%a-f0-9A]{0,12}`)).Draw(t, "url")
		once := listing.Normal(s)
		if again := listing.Normal(once); again != once {
			t.Fatalf("%q is %q, and that is %q", s, once, again)
		}
	})
}

func BenchmarkReading(b *testing.B) {
	const n, changes = 50_000, 1000
	x, disk := filled(n)
	urls, dates := make([]string, n), make([]time.Time, n)
	for i := range n {
		urls[i], dates[i] = url(i), day(-i%900)
	}
	b.ReportAllocs()
	round, written := 0, 0
	for b.Loop() {
		round++
		now := day(round)
		r := x.Read(now)
		for i, u := range urls {
			if i%(n/changes) == 0 {
				r.See(u, now)
			} else {
				r.See(u, dates[i])
			}
		}
		if c := r.End(true); len(c.Redated) != changes {
			b.Fatal(len(c.Redated))
		}
		r.Keep()
		written += disk.save(x)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/changes, "µs/change")
	b.ReportMetric(float64(written)/float64(b.N)/changes, "B/change")
}

func BenchmarkLoad(b *testing.B) {
	_, disk := filled(50_000)
	pieces := disk.pieces()
	for b.Loop() {
		if _, err := listing.Load(pieces); err != nil {
			b.Fatal(err)
		}
	}
}
