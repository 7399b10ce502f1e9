//go:build unix

package app_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/store/postgres"
	"freshet/internal/test/pgtest"
)

// BenchmarkNotesByStandby measures the CPU time that it takes to save what was learnt of
// FRESHET_BENCH_SOURCES sources (2000 if that is not set): a brain that does so itself, one that has a
// standby do it, and that standby. That of PostgreSQL is left out. Then every hundredth source goes and another comes,
// the brain saves once itself, the standby begins anew from that, and all is measured again. A standby
// that is told nothing but outcomes is a learner here.
func BenchmarkNotesByStandby(b *testing.B) {
	sources, err := strconv.Atoi(cmp.Or(os.Getenv("FRESHET_BENCH_SOURCES"), "2000"))
	if err != nil {
		b.Fatal(err)
	}
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	server := pgtest.Start(b, "fsync=on")
	at := server.URL(server.Database(b))
	leads, err := postgres.Open(b.Context(), postgres.Config{URL: at})
	must(err)
	defer leads.Close()
	l, ids := learnMany(b, leads, sources)
	saves := l // who saves
	reads, err := postgres.Open(b.Context(), postgres.Config{URL: at, ReadOnly: true})
	must(err)
	defer reads.Close()
	peers, err := postgres.OpenPeers(b.Context(), postgres.Config{URL: at})
	must(err)
	defer peers.Close()

	// pieces takes down all that was learnt, a piece at a time.
	pieces := func(write func([]freshet.Belief) error) {
		shot := saves.Snapshot(nil)
		for last := false; !last; {
			var some []freshet.Belief
			last, err = shot.Next(learn.SnapshotSlice, func(slot freshet.Slot, memory []byte) error {
				some = append(some, freshet.Belief{Source: ids[slot], Estimator: "learn", Upto: shot.Upto(), Memory: append([]byte(nil), memory...)})
				return nil
			})
			must(err)
			must(write(some))
		}
	}
	measure := func(standby func(), when string) {
		common := []freshet.Belief{{Estimator: "learn", Upto: l.Upto(), Memory: l.Snapshot(nil).Common()}}
		saves = l
		alone := cpuFor(func() {
			pieces(func(some []freshet.Belief) error { return leads.SaveBeliefs(b.Context(), some) })
			must(leads.SaveBeliefs(b.Context(), common))
		})
		turn := postgres.Turn{Term: leads.Term(), Number: 1, Node: "one", Copy: "learn"}
		asking := cpuFor(func() { must(peers.GiveTurn(b.Context(), turn)) })
		standby()
		began := time.Now()
		writing := cpuFor(func() {
			pieces(func(some []freshet.Belief) error {
				n, err := reads.SaveInTurn(b.Context(), turn, some)
				if n != len(some) && err == nil {
					err = fmt.Errorf("%d of %d were saved", n, len(some))
				}
				return err
			})
			must(peers.Offer(b.Context(), turn, common))
		})
		looks := int(time.Since(began)/time.Second) + 1
		asking += cpuFor(func() {
			var said []freshet.Belief
			for range looks {
				_, err := peers.Offered(b.Context(), turn, &said)
				must(err)
				_, err = peers.Nodes(b.Context())
				must(err)
			}
			must(peers.GiveTurn(b.Context(), postgres.Turn{Term: leads.Term(), Number: 2}))
			must(leads.SaveBeliefs(b.Context(), said))
		})
		perSource := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(sources) }
		b.ReportMetric(perSource(alone), when+"alone-µs/source")
		b.ReportMetric(perSource(asking), when+"asking-µs/source")
		b.ReportMetric(perSource(writing), when+"standby-µs/source")
		b.ReportMetric(alone.Seconds()/asking.Seconds(), when+"alone/asking")
	}
	for b.Loop() {
		measure(func() {}, "")
		swapSome(b, leads, l, ids)
		must(reads.Follow(b.Context()))
		measure(func() { saves = beganFrom(b, leads, l, ids) }, "edited-")
	}
	b.ReportMetric(0, "ns/op")
}

// learnMany returns a learner that was told of two polls of each of many sources, which are in a store.
func learnMany(b *testing.B, store freshet.Store, sources int) (*learn.Learner, []freshet.SourceID) {
	ids := make([]freshet.SourceID, sources)
	var next atomic.Int64
	var crew sync.WaitGroup
	for range 256 {
		crew.Go(func() {
			for i := next.Add(1) - 1; i < int64(sources); i = next.Add(1) - 1 {
				ids[i] = freshet.SourceID(fmt.Sprintf("s%07d", i))
				if _, err := store.AddSource(b.Context(), freshet.Source{ID: ids[i], URL: fmt.Sprintf("https://h%d.example/%d", i/20, i)}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	crew.Wait()
	l := learn.New(learn.Config{Tick: time.Second, Polls: 100})
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i, id := range ids {
		l.Put(at, freshet.Slot(i), freshet.Source{ID: id, URL: fmt.Sprintf("https://h%d.example/%d", i/20, i)}, time.Time{})
	}
	for n := range 2 * sources {
		at = at.Add(10 * time.Millisecond)
		l.Observe(at, freshet.Slot(n%sources), freshet.Outcome{Cursor: freshet.Cursor(n + 1), Began: at, Ended: at, Result: freshet.Result(n * 7919 % 11 / 10)})
	}
	return l, ids
}

// swapSome lets every hundredth source go, and another come in its slot.
func swapSome(b *testing.B, store freshet.Store, l *learn.Learner, ids []freshet.SourceID) {
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for slot := 0; slot < len(ids); slot += 100 {
		next := freshet.Source{ID: "x" + ids[slot], URL: fmt.Sprintf("https://x%d.example/%s", slot, ids[slot])}
		err := store.RemoveSource(b.Context(), ids[slot], false)
		if err == nil {
			_, err = store.AddSource(b.Context(), next)
		}
		if err != nil {
			b.Fatal(err)
		}
		l.Remove(freshet.Slot(slot))
		l.Put(at, freshet.Slot(slot), next, time.Time{})
		ids[slot] = next.ID
	}
}

// beganFrom returns a learner that was told of sources where they lay, and of what a brain saved, and wants it to
// know the same.
func beganFrom(b *testing.B, store freshet.Store, l *learn.Learner, ids []freshet.SourceID) *learn.Learner {
	again := learn.New(learn.Config{Tick: time.Second, Polls: 100})
	began := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	at := map[freshet.SourceID]freshet.Slot{}
	for slot, id := range ids {
		at[id] = freshet.Slot(slot)
	}
	for w, err := range store.Sources(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
		again.Put(began, at[w.ID], w.Source, time.Time{})
	}
	for belief, err := range store.Beliefs(b.Context(), "learn") {
		slot := freshet.Slot(-1)
		if err == nil && belief.Source != "" {
			slot, _ = learn.SeatOf(belief.Memory)
		}
		if err == nil {
			err = again.Restore(slot, belief.Memory)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if !bytes.Equal(allOf(b, l), allOf(b, again)) {
		b.Fatal("who begins from what was saved knows something else")
	}
	return again
}

// allOf returns all that a learner knows.
func allOf(b *testing.B, l *learn.Learner) (all []byte) {
	err := l.Save(func(_ freshet.Slot, memory []byte) error { all = append(all, memory...); return nil })
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// cpuFor returns how much CPU time this process takes for something.
func cpuFor(f func()) time.Duration {
	used := func() time.Duration {
		var r syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // of this process it is always known
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	before := used()
	f()
	return used() - before
}
