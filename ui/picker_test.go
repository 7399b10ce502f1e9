package ui_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// Somebody without a mouse goes over the whole page of a source, chooses an element of what
// was captured, sees at once what that would compare, and saves it.
func TestSourceByKeyboard(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 1000, "light")
	focus := func(what, is string) {
		t.Helper()
		for range 80 {
			if eval[bool](b, "(e => !!("+is+"))(document.activeElement)") {
				return
			}
			b.press("\t")
		}
		t.Fatalf("tabs do not lead to %s", what)
	}
	b.visit("/sources/board1", "document.querySelector('.diff') && document.querySelector('.say')")
	b.press("2")
	b.await("location.search.includes('view=words') && document.querySelector('.diff del')")
	b.press("[")
	b.await("location.search.includes('to=')")
	for _, tab := range []string{"Versions", "Polls"} {
		focus(tab, "e.closest('.tabs') && e.textContent.startsWith('"+tab+"')")
		b.press("\r")
		b.await("document.querySelector('.tabs [aria-current]').textContent.startsWith('" + tab + "') && document.querySelectorAll('tbody tr').length > 3")
	}
	b.press("e")
	b.await("location.pathname.endsWith('/settings') && document.querySelector('.preview pre')")
	focus("the choice of an element", "e.textContent == 'Choose an element'")
	b.press("\r")
	b.await("document.querySelectorAll('.elements [role=option]').length > 5 && document.querySelector('.picker iframe')")
	focus("the field to find in", "e.type == 'search'")
	b.press("EUR")
	b.await("[...document.querySelectorAll('.elements [role=option]')].every(e => e.textContent.includes('EUR'))")
	focus("the list of elements", "e.classList.contains('elements')")
	b.press(kb.End) // the last is the innermost
	b.press("\r")
	b.await("document.querySelector('.steps input')?.value == 'p.price'")
	b.await("document.querySelector('.preview pre').textContent.trim() == '104.00 EUR' && document.body.textContent.includes('would be changes')")
	b.clean("an element is chosen")
	b.accessible("an element is chosen")
	b.shot("picker")
	focus("Save", "e.textContent == 'Save' && !e.disabled")
	b.press("\r")
	b.await("document.body.textContent.includes('Saved.')")
	s, err := r.api.Sources.Get(t.Context(), "board1")
	if err != nil || len(s.Read) != 1 {
		t.Errorf("the source is read by %v, %v", s.Read, err)
	}
}
