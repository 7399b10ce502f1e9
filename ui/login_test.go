package ui_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/auth/access"
)

// asOwner has the client of the rig let in as whoever may read the data directory.
func (r *rig) asOwner() {
	r.Helper()
	at, err := app.ReadAddress(r.settings.Data)
	if err != nil {
		r.Fatal(err)
	}
	r.api = client.New(r.url, func(q *http.Request) (*http.Response, error) {
		q.Header.Set("Authorization", "Bearer "+at.Token)
		return http.DefaultClient.Do(q)
	})
}

// headerIsFree fails if something lies over a link of the header, at any width of a desk and in several fonts.
func (b *tab) headerIsFree() {
	b.Helper()
	for _, font := range []string{"", "'DejaVu Sans'", "'Liberation Sans'", "Inter"} {
		for _, width := range []int64{1024, 1100, 1180, 1181, 1280, 1366, 1440} {
			b.resize(width, 900, "light")
			covered := eval[[]string](b, fmt.Sprintf(`(() => {
				if (%q) document.documentElement.style.setProperty('--sans', %[1]q);
				const bar = document.querySelector('.bar-in').getBoundingClientRect();
				return [...document.querySelectorAll('.bar nav a, .bar button, .bar .me a')].filter(e => e.offsetParent).filter(e => {
					const r = e.getBoundingClientRect();
					return [r.left + 2, r.left + r.width / 2, r.right - 2].some(x => { const at = document.elementFromPoint(x, r.top + r.height / 2); return !at || !(e.contains(at) || at.contains(e) && at === e); }) || r.right > bar.right + 1;
				}).map(e => e.textContent.trim() || e.title);
			})()`, font))
			if len(covered) > 0 {
				b.Errorf("at %d px in %q these are covered: %q", width, font, covered)
			}
		}
	}
	eval[bool](b, "(document.documentElement.style.removeProperty('--sans'), true)")
	b.resize(1440, 1000, "light")
}

// From an open page to one with users: the notice, the first admin, the login, a session
// that ends while a draft is open, tokens, a share link, the audit log and the way out.
func TestLogin(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	r.asOwner()
	b := r.tab(1440, 1000, "light")
	b.visit("/", "document.querySelector('.banner')?.textContent.includes('No login is set up')")
	b.clean("the notice")
	b.accessible("the notice")
	b.shot("login-notice")
	b.click("Got it")
	b.await("!document.querySelector('.banner')")
	b.visit("/settings/people", "document.body.textContent.includes('There are no users')")
	b.fill("Name", "ada")
	b.fill("Password", "correct horse")
	b.click("Add the first admin")
	b.await("document.querySelector('h1')?.textContent == 'Log in'")
	b.expects(401)
	b.visit("/login", "document.querySelector('form.login')")
	b.clean("the login")
	b.accessible("the login")
	b.shot("login")

	b.visit("/sources?q=board", "document.querySelector('h1')?.textContent == 'Log in'")
	b.fill("User", "ada")
	b.fill("Password", "wrong")
	b.click("Log in")
	b.await("document.querySelector('.wrong')?.textContent.includes('the user name or the password is wrong')")
	b.fill("Password", "correct horse")
	b.click("Log in")
	b.await("location.pathname == '/sources' && document.body.textContent.includes('board0')")
	b.await("document.querySelector('.me')?.textContent.includes('ada')")
	b.clean("after the login")
	b.headerIsFree()

	b.visit("/sources/board0/settings", "document.querySelector('input.input')")
	b.fill("Name", "a draft")
	if _, err := r.api.Users.Edit(t.Context(), "ada", client.Patch{"password": "another horse"}, 0); err != nil {
		t.Fatal(err)
	}
	b.click("Save")
	b.await("document.querySelector('dialog[open]')?.textContent.includes('Your session has ended')")
	b.accessible("a session that has ended")
	b.shot("login-again")
	b.fill("Password", "another horse")
	b.click("Log in")
	b.await("!document.querySelector('dialog[open]') && [...document.querySelectorAll('input.input')].some(e => e.value == 'a draft')")
	b.await("[...document.querySelectorAll('button')].some(e => e.textContent == 'Save' && !e.disabled)")
	b.click("Save")
	b.await("document.querySelector('h1')?.textContent.includes('a draft') && !document.querySelector('.wrong')")

	b.visit("/settings/audit", "[...document.querySelectorAll('h2')].some(e => e.textContent == 'Audit log') && document.body.textContent.includes('edit source board0')")
	b.visit("/settings/people", "[...document.querySelectorAll('h2')].some(e => e.textContent == 'Tokens')")
	b.fill("Purpose", "grafana")
	b.click("Make a token")
	b.await("document.querySelector('.once')?.textContent.startsWith('ft_')")
	b.clean("people")
	b.accessible("people")
	b.shot("login-people")
	b.visit("/sources/board0", "document.querySelector('.tabs')")
	b.click("Share")
	b.click("Make a link")
	b.await("document.querySelector('.share input')?.value.includes('/share/fl_')")
	link := eval[string](b, "document.querySelector('.share input').value")

	guest := r.tab(390, 800, "dark")
	guest.visit(strings.TrimPrefix(link, r.url), "location.pathname == '/sources/board0' && document.querySelector('h1')?.textContent.includes('a draft')")
	guest.shot("login-guest")
	guest.visit("/sources/board1", "document.body.textContent.includes('This is not part of what was shared with you')")

	b.click("Log out")
	b.await("location.pathname == '/login' && document.querySelector('h1')?.textContent == 'Log in'")
	users, err := r.api.Users.List(t.Context())
	if err != nil || len(users) != 1 || users[0].Role != access.Admin {
		t.Errorf("the users are %+v, %v", users, err)
	}
}
