package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/learn/imported"
)

// column opens the numbers of a section and returns one of their columns.
func (b *tab) column(title string, at int) []string {
	b.Helper()
	section := fmt.Sprintf("[...document.querySelectorAll('section')].find((s) => s.querySelector('h2')?.textContent == %q)", title)
	b.await(fmt.Sprintf("[...(%s?.querySelectorAll('button') ?? [])].some((e) => e.textContent.trim() == 'Numbers') && %s.querySelector('svg rect')", section, section))
	if !eval[bool](b, "!!"+section+".querySelector('tbody')") {
		eval[bool](b, "([..."+section+".querySelectorAll('button')].find((e) => e.textContent.trim() == 'Numbers').click(), true)")
	}
	b.await(section + ".querySelector('tbody tr')")
	return eval[[]string](b, fmt.Sprintf("[...%s.querySelectorAll('tbody tr')].map((r) => r.cells[%d].textContent)", section, at))
}

// The day ahead is what is thought of a source: what was learned, or the chances that
// somebody gave, which add up to those of the whole day.
func TestTheDayAhead(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	for edition := 5; edition < 9; edition++ { // a few in a row may be a burst
		r.change("/board3", "board3", board(3, edition))
	}
	now := time.Now().UTC()
	rate, half := 2.4, 0.5
	for id, c := range map[freshet.SourceID]imported.Forecast{
		"board1": {Rate: &rate, From: now.Add(-time.Hour), Until: now.Add(48 * time.Hour)},
		"board2": {From: now.Add(-time.Hour), Until: now.Add(48 * time.Hour), Times: []imported.Chance{{At: now.Add(90 * time.Minute), Until: now.Add(170 * time.Minute), Chance: &half}}},
	} {
		if _, err := r.api.Sources.SetForecast(t.Context(), id, c); err != nil {
			t.Fatal(err)
		}
	}
	b := r.tab(1440, 1000, "light")
	b.visit("/sources/board1", "document.body.textContent.includes('by the forecast that was set')")
	by, in := b.column("The next 24 hours", 2), b.column("The next 24 hours", 1)
	if n := len(by); n != 24 && n != 25 || by[n-1] != "91%" || in[5] != "10%" { // 1 - exp(-2.4), 1 - exp(-0.1)
		t.Errorf("at 2.4 changes a day a change is likely by %q and in each hour by %q, want 91%% at last and 10%% in an hour", by, in)
	}
	b.visit("/sources/board2", "document.body.textContent.includes('by the forecast that was set')")
	by = b.column("The next 24 hours", 2)
	if by[0] != "0%" || by[4] != "50%" || by[len(by)-1] != "50%" {
		t.Errorf("with one chance of a half in 90 minutes a change is likely by %q, want 50%% from then on", by)
	}
	b.visit("/sources/board3", "document.body.textContent.includes('A change within 24 hours')")
	if learned, err := r.api.Sources.Rhythm(t.Context(), "board3"); err != nil || learned.Rate.Low < 10 {
		t.Fatalf("the rhythm is %+v, %v", learned, err)
	}
	if by = b.column("The next 24 hours", 2); by[len(by)-1] != "over 99%" {
		t.Errorf("a page that changes at each look will do so by %q", by)
	}
	b.clean("the day ahead")
	b.accessible("the day ahead")
	b.shot("ahead-desktop-light")
	b.resize(390, 844, "dark")
	b.visit("/sources/board1", "document.body.textContent.includes('by the forecast that was set')")
	b.column("The next 24 hours", 2)
	b.clean("the day ahead on a phone")
	b.accessible("the day ahead on a phone")
	b.shot("ahead-phone-dark")
}

// The overview counts what was captured by the day, when it is asked to.
func TestCapturedByDay(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 1000, "light")
	b.visit("/", "document.querySelectorAll('.change').length > 3")
	if n := eval[int](b, "performance.getEntriesByType('resource').filter((e) => e.name.includes('/numbers/days')).length"); n != 0 {
		t.Errorf("the days were counted %d times before anybody asked", n)
	}
	b.click("By day")
	changes := b.column("By day", 3)
	days, err := r.api.NumbersByDay(t.Context(), client.DaysQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) != 14 || changes[13] != fmt.Sprint(days.Items[len(days.Items)-1].Changes) || changes[13] == "0" {
		t.Errorf("by day there were %q changes, want some today alone, as the API has them: %+v", changes, days.Items[len(days.Items)-1])
	}
	if share := b.column("By day", 1); share[0] != "–" || !strings.HasSuffix(share[13], "%") {
		t.Errorf("the shares are %q, want one for today alone", share)
	}
	b.clean("by day")
	b.accessible("by day")
	b.shot("days-desktop-light")
	b.resize(390, 844, "dark")
	b.visit("/", "document.querySelectorAll('.change').length > 3")
	b.click("By day")
	b.column("By day", 1)
	b.clean("by day on a phone")
	b.accessible("by day on a phone")
	b.shot("days-phone-dark")
}
