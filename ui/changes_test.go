package ui_test

import (
	"fmt"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/freshet"
)

// The log of changes shows what matches, also of what comes, and is walked by keys.
func TestLogOfChanges(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 1000, "light")
	rows := "[...document.querySelectorAll('.log .change .who')].map(e => e.textContent)"
	b.visit("/changes", "document.querySelectorAll('.log .change').length == 12")
	b.visit("/changes?tag=t1", "document.querySelectorAll('.log .change').length == 6")
	for _, who := range eval[[]string](b, rows) {
		if who != "Board 1" && who != "Board 3" {
			t.Errorf("with the tag t1 a change of %s is shown", who)
		}
	}
	for range 20 {
		if eval[string](b, "document.activeElement.id") == "find-changes" {
			break
		}
		b.press("\t")
	}
	b.press("lighting 77")
	b.await("document.querySelector('.log + p, .empty')?.textContent.includes('No change matches') && location.search.includes('q=lighting')")

	r.change("/board0", "board0", board(0, 77)) // has the words, and not the tag
	r.change("/board3", "board3", board(3, 77))
	b.await("document.querySelectorAll('.log .change').length == 1 && document.querySelector('.log .change').textContent.includes('Board 3')")
	b.clean("live")

	b.visit("/changes", "document.querySelectorAll('.log .change').length == 14")
	b.press("j")
	b.press("j")
	b.press("k")
	b.press("j")
	b.await("document.activeElement == document.querySelectorAll('.log .change')[1]") // j j k j
	second := eval[string](b, "document.activeElement.pathname")
	// A row in hand is not moved: new ones wait until they are asked for.
	r.change("/board1", "board1", board(1, 78))
	b.await("[...document.querySelectorAll('button')].some(e => e.textContent == '1 new')")
	if n := eval[int](b, "document.querySelectorAll('.log .change').length"); n != 14 {
		t.Errorf("%d changes are shown while one is in hand, want 14", n)
	}
	b.press("n")
	b.await("document.querySelectorAll('.log .change').length == 15")
	b.press("\r")
	b.await(fmt.Sprintf("location.pathname == %q", second))

	// Sources are chosen by their names.
	b.visit("/changes", "document.querySelectorAll('.log .change').length == 15")
	b.fill("Source", "Board 2")
	b.await("location.search == '?source=board2' && document.querySelectorAll('.log .change').length == 3")
	b.visit("/changes?source=board1", "document.querySelector('[list=sources-found]')?.value == 'Board 1'")
	b.clean("changes of a source")

	// The stream of the overview keeps to its tag, in what is there and in what comes.
	b.visit("/?tag=t0", "document.querySelectorAll('.change').length == 7")
	r.change("/board1", "board1", board(1, 79)) // has another tag
	r.change("/board2", "board2", board(2, 79))
	b.await("document.querySelectorAll('.change').length == 8 && document.querySelector('.change').textContent.includes('Board 2')")
	for _, who := range eval[[]string](b, "[...document.querySelectorAll('.change .who')].map(e => e.textContent)") {
		if who != "Board 0" && who != "Board 2" {
			t.Errorf("with the tag t0 the overview shows a change of %s", who)
		}
	}
}

// The polls of a source come in pages, newest first, without a gap or a double.
func TestAllPolls(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.web.PutHTML("/page", board(0, 1))
	r.watch(client.NewSource{ID: "page", URL: r.web.URL + "/page", Strategy: "day {03:00}"})
	for range 120 {
		r.poll("page")
	}
	log, err := r.api.Sources.Outcomes(t.Context(), "page", freshet.Place{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	b := r.tab(1440, 1000, "light")
	b.visit("/sources/page/polls", "document.querySelectorAll('tbody tr').length == 100")
	b.click("Show more")
	b.await(fmt.Sprintf("document.querySelectorAll('tbody tr').length == %d && ![...document.querySelectorAll('button')].some(e => e.textContent == 'Show more')", len(log.Items)))
	if got, want := eval[string](b, "[...document.querySelectorAll('tbody tr')].at(-1).textContent"), "first version"; !strings.Contains(got, want) {
		t.Errorf("the oldest poll is shown as %q, want the %s", got, want)
	}
	b.clean("polls")
}
