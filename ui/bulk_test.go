package ui_test

import (
	"fmt"
	"testing"
)

// Two sources are chosen with keys, get another level and are compared otherwise, and it is
// undone. Each action shows its lines.
func TestBulk(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 900, "light")
	b.visit("/sources?sort=id", "document.querySelectorAll('.list-row').length == 5")
	b.press("jxjx")
	b.await("document.querySelector('.bulk b')?.innerText == '2 sources selected'")
	b.resize(1280, 900, "light")
	if height := eval[float64](b, "document.querySelector('.bulk').getBoundingClientRect().height"); height > 60 {
		t.Errorf("the bar is %.0f px high, which is more than one row", height)
	}
	b.resize(1440, 900, "light")
	field := func(label, text string) {
		t.Helper()
		if !eval[bool](b, fmt.Sprintf("(e => e && (e.value = %q, e.dispatchEvent(new Event('input', {bubbles: true}))))(document.querySelector('.bulk [aria-label=%q]'))", text, label)) {
			t.Fatalf("there is no field %q", label)
		}
	}
	level := func() string {
		s, err := r.api.Sources.Get(t.Context(), "board1")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(s.Level, s.Read)
	}
	before := level()
	choose := func(what string) {
		t.Helper()
		eval[bool](b, fmt.Sprintf("(e => (e.value = %q, e.dispatchEvent(new Event('change', {bubbles: true}))))(document.querySelector('.bulk select'))", what))
		b.await("document.querySelector('.bulk .row .input')")
	}
	choose("level")
	field("Level", "80% within 1h")
	b.await("document.querySelector('.bulk [aria-label=Level]').value == '80% within 1h'")
	b.click("Level")
	b.click("As curl")
	b.await("[...document.querySelectorAll('.as pre')].some(e => e.innerText == \"freshet edit bulk level '80% within 1h' --id board0,board1\")")
	b.clean("many are edited")
	b.accessible("many are edited")
	b.shot("bulk")
	b.click("Set it")
	b.await("document.querySelector('.bulk .good')?.innerText.includes('2 sources')")
	if got := level(); got != "80% within 1h[]" {
		t.Errorf("board1 has %s", got)
	}
	b.click("Undo")
	b.await("document.querySelector('.bulk .good')?.innerText == 'Undone.'")
	if got := level(); got != before {
		t.Errorf("after the undo board1 has %s, want %s", got, before)
	}
	choose("css")
	field("CSS selector of what is compared", ".price")
	b.await("document.querySelector('.bulk .code').value == '.price'")
	b.click("Compare")
	b.click("Change it")
	b.await("document.querySelector('.bulk .good')?.innerText.includes('2 sources')")
	if got := level(); got != "[map[css:.price]]" {
		t.Errorf("board1 is read by %s", got)
	}
}
