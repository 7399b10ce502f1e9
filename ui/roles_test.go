package ui_test

import (
	"slices"
	"strings"
	"testing"

	"freshet/internal/api"
	"freshet/internal/auth/access"
	"freshet/internal/auth/openid"
	"freshet/internal/test/oidctest"
)

// throughProvider has people log in at a provider from now on.
func (r *rig) throughProvider() *oidctest.Provider {
	r.Helper()
	r.stop()
	p := oidctest.New(r, r.url+api.CallbackPath)
	r.settings.API.Listen = strings.TrimPrefix(r.url, "http://")
	r.settings.API.URL = r.url
	r.settings.API.OIDC = openid.Settings{
		Name: "Example", Issuer: p.URL, ClientID: oidctest.ClientID, Secret: oidctest.ClientSecret, Groups: "groups",
		Roles: openid.Roles{Admins: []string{"group:ops"}, Editors: []string{"group:shop"}, Viewers: []string{"group:all"}},
	}
	r.serve()
	return p
}

// goThrough clicks the way to the provider, which sends the browser straight back.
func (b *tab) goThrough(until string) {
	b.Helper()
	b.await("document.querySelector('a[data-away]')?.textContent == 'Log in with Example'")
	eval[bool](b, "(document.querySelector('a[data-away]').click(), true)")
	b.await(until)
	b.foreign.Store(nil) // the provider is elsewhere
}

// inRole lists what each role sees on a screen, besides the one before it.
var inRole = []struct {
	screen        string
	ready         string
	editor, admin []string
}{
	{"/", "document.querySelectorAll('.change').length > 3", nil, nil},
	{"/sources", "document.querySelectorAll('.list-row').length == 5", []string{"Import", "Add a source", "Select Board 1"}, nil},
	{"/sources/board1", "document.querySelector('.diff')", []string{"Share", "Poll now", "Pause", "Notify me"}, nil},
	{"/sources/board1/settings", "document.querySelector('input.input')?.closest('form, .cols')", []string{"Save", "Discard", "Stop watching", "Choose an element", "Add a step"}, nil},
	{"/sources/board1/polls", "document.querySelectorAll('tbody tr').length > 3", []string{"Poll now"}, nil},
	{"/queries", "document.body.textContent.includes('Examples')", []string{"New"}, nil},
	{"/queries/dearer", "[...document.querySelectorAll('h2')].some(e => e.textContent == 'Sinks')", []string{"New", "Save", "Turn off", "Remove the query", "Add"}, nil},
	{"/sinks", "document.body.textContent.includes('Kinds of sink') && document.querySelector('th.kind')", []string{"Add"}, nil},
	{"/sinks/held", "[...document.querySelectorAll('h2')].some(e => e.textContent == 'State')", []string{"Edit", "Send a test message", "Preview", "Resume", "Remove", "Send again"}, nil},
	{"/start", "document.querySelector('h1')", []string{"Preview"}, nil},
	{"/settings", "document.querySelectorAll('.field').length > 8", nil, []string{"Save", "Discard"}},
	{"/settings/people", "[...document.querySelectorAll('h2')].some(e => e.textContent == 'Tokens') && document.body.textContent.includes('There are no tokens')", nil, []string{"Add a user"}},
}

// words are all that can be clicked on a screen, by what it is called.
const words = `[...document.querySelectorAll('main button, main a.button, main td a, main input[type=checkbox]')].map(e => e.getAttribute('aria-label') ?? [...e.childNodes].filter(n => n.nodeName != 'KBD').map(n => n.textContent).join('').trim())`

// Whoever logs in at the provider sees what their role may do, and nothing else; nothing
// that the page asks for is refused.
func TestRoles(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	p := r.throughProvider()
	var all []string
	for _, s := range inRole {
		all = append(all, append(s.editor, s.admin...)...)
	}
	for _, c := range []struct {
		role   access.Role
		group  string
		width  int64
		scheme string
	}{{access.Admin, "ops", 1440, "light"}, {access.Editor, "shop", 1440, "dark"}, {access.Viewer, "all", 390, "light"}} {
		p.Person = map[string]any{"sub": string(c.role), "preferred_username": "a-" + string(c.role), "groups": []string{c.group}}
		b := r.tab(c.width, 1000, c.scheme)
		b.visit("/sources?q=board", "document.querySelector('h1')?.textContent == 'Log in'")
		b.expects(401)
		b.clean("the login")
		if c.role == access.Viewer {
			b.accessible("the login")
		}
		b.shot("roles-login-" + string(c.role))
		b.goThrough("location.pathname == '/sources' && location.search == '?q=board' && document.querySelector('.me')?.textContent.includes('a-" + string(c.role) + "') && document.body.textContent.includes('board0')")
		for _, s := range inRole {
			b.visit(s.screen, s.ready)
			var want, not []string
			switch c.role {
			case access.Admin:
				want = append(slices.Clone(s.editor), s.admin...)
			case access.Editor:
				want, not = s.editor, s.admin
			case access.Viewer:
				not = all
			}
			for _, word := range want {
				b.await(words + ".includes('" + word + "')")
			}
			b.clean(string(c.role) + " at " + s.screen)
			for _, word := range eval[[]string](b, words) {
				if slices.Contains(not, word) && !(s.screen == "/" && word == "Pause") { // which holds the stream
					t.Errorf("%s: %s sees %q", s.screen, c.role, word)
				}
			}
			if s.screen == "/sources/board1/settings" || s.screen == "/settings" || s.screen == "/sinks/held" {
				if c.role == access.Viewer {
					b.accessible("a viewer at " + s.screen)
				}
				b.shot("roles-" + string(c.role) + strings.ReplaceAll(s.screen, "/", "-"))
			}
		}
		b.visit("/sources/board1", "document.querySelector('.diff')")
		b.press("a")
		b.press("t")
		b.await("document.documentElement.dataset.theme")
		if at := eval[string](b, "location.pathname"); (at == "/start") != (c.role != access.Viewer) {
			t.Errorf("%s: the key a leads to %s", c.role, at)
		}
	}
}
