package ui_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

// record stores a history of paused sources that were polled every hour, each of which changed
// now and then, while no daemon runs.
func (r *rig) record(sources, polls int) {
	r.Helper()
	store, err := sqlite.Open(r.Context(), sqlite.Config{Features: features.All(), Dir: r.settings.Data})
	if err != nil {
		r.Fatal(err)
	}
	began := time.Now().UTC().Add(-time.Duration(polls) * time.Hour).Truncate(time.Hour)
	var wg sync.WaitGroup
	for i := range sources {
		id := freshet.SourceID(fmt.Sprintf("old%d", i))
		if _, err := store.AddSource(r.Context(), freshet.Source{ID: id, URL: fmt.Sprintf("https://old-%d.example/", i), Paused: true}); err != nil {
			r.Fatal(err)
		}
		wg.Go(func() {
			var since time.Time
			for n := range polls {
				at := began.Add(time.Duration(n) * time.Hour)
				rec := freshet.Record{Outcome: freshet.Outcome{Source: id, Since: since, Began: at, Ended: at.Add(time.Second), Requests: 1, Status: 200}}
				if n == 0 {
					rec.Outcome.Result = freshet.First
				} else if n%(2+i%7) == 0 {
					rec.Outcome.Result = freshet.Changed
				}
				if rec.Outcome.Result.Captured() {
					text := fmt.Appendf(nil, "%d", n)
					rec.Capture = &freshet.Capture{Text: text, Hash: freshet.HashOf(text), Raw: freshet.Raw{Status: 200, Body: text}}
				}
				if _, _, err := store.Commit(r.Context(), rec); err != nil {
					r.Error(err)
					return
				}
				since = at
			}
		})
	}
	wg.Wait()
	if err := store.Close(); err != nil {
		r.Fatal(err)
	}
}

// A run that is asked for while another is under way waits for it, says so, and can be cancelled
// while it waits; so can the other while it runs.
func TestLabQueue(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.stop()
	r.record(60, 300)
	r.serve()
	b := r.tab(1440, 1000, "light")
	ask := func(budgets string) {
		t.Helper()
		b.fill("Budgets", budgets)
		b.click("Replay")
	}
	b.visit("/lab", "document.querySelectorAll('.policies input').length > 5")
	began := time.Now()
	ask("1/m, 2/m, 3/m, 4/m, 5/m, 6/m, 7/m, 8/m") // takes minutes
	b.await("location.pathname == '/lab/1' && document.querySelector('progress')")
	b.await("[...document.querySelectorAll('label')].find((l) => l.textContent.startsWith('Budgets')).querySelector('input').value.endsWith('8/m')") // what is asked for is where to go on from
	ask("1/h")
	b.await("location.pathname == '/lab/2' && document.querySelector('h2 ~ *') && document.querySelector('[role=status].say')?.textContent == 'waits for 1 other'")
	b.await("[...document.querySelectorAll('.pick a')].map((e) => e.pathname).join() == '/lab/2,/lab/1' && document.querySelector('.pick a').textContent.includes('waits for 1 other')")
	b.clean("a run that waits")
	b.accessible("a run that waits")
	b.shot("lab-waits-desktop-light")
	b.resize(390, 844, "dark")
	b.clean("a run that waits, on a phone")
	b.accessible("a run that waits, on a phone")
	b.shot("lab-waits-phone-dark")
	b.resize(1440, 1000, "light")
	state := func(id string) client.LabState {
		t.Helper()
		run, err := r.api.LabRuns.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return run.State
	}
	if first, second := state("1"), state("2"); first != client.LabRunning || second != client.LabWaiting {
		t.Fatalf("after %v the first run is %s and the second %s", time.Since(began), first, second)
	}
	b.click("Cancel")
	b.await("document.body.textContent.includes('This run was cancelled.') && document.querySelector('.pick a').textContent.includes('cancelled')")
	if first, second := state("1"), state("2"); first != client.LabRunning || second != client.LabCancelled {
		t.Errorf("the first run is %s and the second %s, want the second cancelled alone", first, second)
	}
	b.visit("/lab/1", "document.querySelector('progress') && document.querySelector('[role=status].say')?.textContent.includes('%')")
	b.click("Cancel")
	b.await("document.body.textContent.includes('This run was cancelled.')")
	b.visit("/lab/2", "document.body.textContent.includes('This run was cancelled.')")
	ask("1/h") // nothing is ahead of it any more
	b.await("location.pathname == '/lab/3' && (document.querySelectorAll('.curves path').length > 0 || document.querySelector('[role=status].say')?.textContent.includes('%'))")
	b.clean("the queue of the lab")
}

// The lab is asked on the page, shows how far it has come and what became of it, is found
// again at its address, and its reports can be read.
func TestLab(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 1000, "light")
	b.visit("/lab", "document.querySelectorAll('.policies input').length > 5")
	b.fill("Budgets", "1/s, nonsense")
	b.click("Replay")
	b.await("document.querySelector('.field .wrong')?.innerText.includes('nonsense')")
	b.fill("Budgets", "1/s, 10/s, 50/s")
	b.click("As curl")
	b.await("[...document.querySelectorAll('.as pre')].some(e => e.innerText == 'freshet lab run --policies auto,uniform,frequency --budgets 1/s,10/s,50/s')")
	b.click("Replay")
	b.await("location.pathname == '/lab/1' && document.querySelectorAll('.curves path').length >= 4")
	b.await("document.querySelector('.curves').innerText.includes('limit')")
	b.await("document.querySelectorAll('.scroll tbody tr').length == 4")
	b.click("Age")
	b.await("location.search == '?show=age' && document.querySelector('.section h2 ~ *') && [...document.querySelectorAll('h2')].some(h => h.innerText == 'Age, by budget')")
	b.click("Captured")
	b.click("10/s")
	b.await("[...document.querySelectorAll('h2')].some(h => h.innerText == 'At 10/s')")
	b.click("Numbers")
	b.await("document.querySelectorAll('.numbers tbody tr').length == 12")
	b.expects(422) // a wrong budget was refused
	b.look("lab-desktop-light", "/lab/1", "document.querySelectorAll('.curves path').length >= 4")
	b.resize(390, 844, "dark")
	b.look("lab-phone-dark", "/lab/1", "document.querySelectorAll('.curves path').length >= 4")
	b.visit("/lab/1", "document.querySelectorAll('.curves path').length >= 4")
	b.click("Remove this run")
	b.await("location.pathname == '/lab' && document.querySelectorAll('.pick a').length == 0")
	b.clean("lab")
}
