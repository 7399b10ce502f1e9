package ui_test

import (
	"strings"
	"testing"
)

// Settings show what a change would mean, refuse what is wrong, and hold at once.
func TestProgramSettings(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 1000, "light")
	b.visit("/settings", "[...document.querySelectorAll('.field')].some((e) => e.textContent.includes('Requests'))")
	b.fill("Requests", "much")
	b.await("document.querySelector('.field .wrong') && [...document.querySelectorAll('button')].find(e => e.textContent == 'Save').disabled")
	b.forget() // a browser notes every answer of 422
	b.fill("Requests", "1200/m")
	b.fill("Versions for", "90d")
	b.await("!document.querySelector('.field .wrong') && document.body.textContent.includes('cannot be brought back')")
	b.await("document.body.textContent.includes('At 1200/m about') || document.body.textContent.includes('not known yet')")
	b.shot("settings-edited")
	b.accessible("settings")
	b.click("Save")
	b.await("document.body.textContent.includes('It holds from now on')")
	s, err := r.api.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, i := range s.Items {
		got[i.Key] = i.Value + " " + i.From
	}
	if got["budget"] != "1200/m api" || got["keep.age"] != "90d api" || !strings.HasSuffix(got["hints"], "default") {
		t.Errorf("the settings are %v", got)
	}
	if st, err := r.api.Status(t.Context()); err != nil || st.Budget != "1200/m" {
		t.Errorf("the daemon has a budget of %s, %v", st.Budget, err)
	}
	b.fill("Requests", "")
	b.click("Save")
	b.await("[...document.querySelectorAll('label')].find(l => l.textContent.startsWith('Requests')).querySelector('input').value == '60/m'")
	b.clean("settings")
}
