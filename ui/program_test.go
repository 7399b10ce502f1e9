package ui_test

import (
	"fmt"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/freshet"
)

// Settings show what a change would mean, refuse what is wrong, and hold at once.
func TestProgramSettings(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 1000, "light")
	b.visit("/settings", "[...document.querySelectorAll('.field')].some((e) => e.textContent.includes('Requests'))")
	b.fill("Requests", "much")
	b.await("document.querySelector('.field .wrong') && [...document.querySelectorAll('button')].find(e => e.textContent == 'Save').disabled")
	b.expects(422)
	b.fill("Requests", "1200/m")
	b.await("!document.querySelector('.field .wrong')")
	b.await("[...document.querySelectorAll('th')].find(e => e.textContent == 'Requests a day, at most')?.parentElement.textContent.endsWith('4,320,0001,728,000')")
	b.shot("settings-edited")
	b.accessible("settings")
	b.click("Save")
	b.await("document.body.textContent.includes('Saved.')")
	b.visit("/settings/history", "[...document.querySelectorAll('.field')].some((e) => e.textContent.includes('Keep versions for'))")
	b.fill("Keep versions for", "90d")
	b.await("document.body.textContent.includes('Nothing would be deleted now')")
	all := r.versions()
	b.fill("Versions per source", "6")
	b.await(fmt.Sprintf("document.body.textContent.includes('It deletes %d versions')", all-6))
	if n := r.versions(); n != all {
		t.Errorf("before anything is saved there are %d versions, want %d", n, all)
	}
	b.shot("settings-history-edited")
	b.accessible("settings of the history")
	b.fill("Versions per source", "")
	b.await("document.body.textContent.includes('Nothing would be deleted now')")
	b.click("Save")
	b.await("document.body.textContent.includes('Saved.')")
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
	b.visit("/settings", "[...document.querySelectorAll('.field')].some((e) => e.textContent.includes('Requests'))")
	b.fill("Requests", "")
	b.click("Save")
	b.await("[...document.querySelectorAll('label')].find(l => l.textContent.startsWith('Requests')).querySelector('input').value == '60/m'")
	b.clean("settings")
}

// What somebody else saves meanwhile is not lost: the page says so, keeps what was typed, and
// saves it on top when it is asked again.
func TestSettingsChangedBySomebodyElse(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	b := r.tab(1440, 1000, "light")
	b.visit("/settings", "[...document.querySelectorAll('.field')].some((e) => e.textContent.includes('Requests'))")
	b.fill("Requests", "1200/m")
	b.await("document.body.textContent.includes('Requests a day, at most')")
	if _, err := r.api.EditSettings(t.Context(), client.SettingsEdit{Set: map[string]string{"hosts.delay": "7s"}}); err != nil {
		t.Fatal(err)
	}
	b.expects(412)
	b.click("Save")
	b.await("[...document.querySelectorAll('[role=alert]')].some(e => e.textContent.includes('Somebody else changed the settings') && e.textContent.includes('Delay between requests to a host') && e.textContent.includes('7s'))")
	value := func(label string) string {
		return eval[string](b, "[...document.querySelectorAll('label')].find(l => l.querySelector('.label')?.textContent == '"+label+"').querySelector('input').value")
	}
	if typed, theirs := value("Requests"), value("Delay between requests to a host"); typed != "1200/m" || theirs != "7s" {
		t.Errorf("the page has %q as typed and %q as saved by somebody else", typed, theirs)
	}
	if st, err := r.api.Status(t.Context()); err != nil || st.Budget == "1200/m" {
		t.Errorf("the budget is %s already, %v", st.Budget, err)
	}
	b.accessible("a conflict")
	b.shot("settings-conflict")
	b.click("Save")
	b.await("document.body.textContent.includes('Saved.') && !document.body.textContent.includes('Somebody else')")
	if st, err := r.api.Status(t.Context()); err != nil || st.Budget != "1200/m" {
		t.Errorf("the budget is %s, %v", st.Budget, err)
	}
	b.clean("settings")
}

// versions counts the stored versions of all sources.
func (r *rig) versions() (n int) {
	r.Helper()
	all, err := r.api.Sources.List(r.Context(), client.SourceQuery{})
	if err != nil {
		r.Fatal(err)
	}
	for _, s := range all {
		found, err := r.api.Sources.Versions(r.Context(), s.ID, freshet.Between{}, 100)
		if err != nil {
			r.Fatal(err)
		}
		n += len(found)
	}
	return n
}
