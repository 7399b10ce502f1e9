package ui_test

import (
	"fmt"
	"testing"
)

// What needs attention stands on the overview, with the one click that mends it.
func TestAttentionIsMended(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 1000, "light")
	row := func(name string) string {
		return fmt.Sprintf("[...document.querySelectorAll('.attention li')].find(e => e.textContent.includes(%q))", name)
	}
	b.visit("/", row("A page that is not there"))
	b.clean("attention")
	b.accessible("attention")
	b.shot("attention")
	eval[bool](b, "("+row("A page that is not there")+".querySelector('.button.link').click(), true)")
	b.await(row("A page that is not there") + "?.textContent.includes('It failed again')")
	r.web.PutHTML("/none", "<p>here</p>")
	eval[bool](b, "("+row("A page that is not there")+".querySelector('.button.link').click(), true)")
	b.await(row("A page that is not there") + "?.textContent.includes('It answers again')")
	b.await("!" + row("A page that is not there")) // and then it is gone from the list
}
