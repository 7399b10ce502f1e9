package ui_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/auth/access"
)

// lines returns what an action is for a shell.
func (b *tab) lines() []string {
	b.Helper()
	b.await("document.querySelector('.as.wide pre')")
	return eval[[]string](b, "[...document.querySelectorAll('.as.wide pre')].map(e => e.textContent)")
}

// What can be done on the page can be done from a shell: each action shows its lines, with all
// that was typed, and nothing typed breaks out of its word.
func TestActionsAsLines(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 1000, "light")
	says := func(want ...string) {
		t.Helper()
		for _, line := range want { // what was typed is there soon
			b.await(fmt.Sprintf("[...document.querySelectorAll('.as.wide pre')].some(e => e.textContent == %q)", line))
		}
		for _, line := range b.lines() {
			if !strings.HasPrefix(line, "freshet ") && (!strings.HasPrefix(line, "curl -X ") || !strings.Contains(line, r.url)) {
				t.Errorf("%q is neither", line)
			}
		}
	}
	b.visit("/sources/board1", "document.querySelector('.diff')")
	b.click("As curl")
	says("freshet poll board1", "freshet pause board1")

	b.visit("/sources/board1/settings", "document.querySelector('.preview pre')")
	b.fill("Name", "it's; rm -rf $HOME `id`")
	b.fill("Tags", "a, b c")
	b.pick("Maximum interval", "1d")
	b.click("Add a step")
	b.await("document.querySelector('.steps input')")
	eval[bool](b, "(e => { e.value = 'p.price'; e.dispatchEvent(new Event('input', {bubbles: true})); return true })(document.querySelector('.steps input'))")
	b.await("document.querySelector('.preview pre').textContent.trim() == '104.00 EUR'")
	b.click("As curl")
	says(`freshet edit board1 --name 'it'\''s; rm -rf $HOME `+"`id`"+`' --max-gap 1d --tag a --tag 'b c' --css p.price`, "freshet remove board1")
	b.click("Discard")

	b.visit("/queries/dearer", "document.querySelectorAll('tbody tr').length > 3")
	b.fill("Send at most", "10/h")
	b.click("As curl")
	says("freshet query edit dearer --when 'now.price > before.price' --rate 10/h --name Dearer", "freshet query edit dearer --pause", "freshet query remove dearer")

	b.visit("/sinks/held", "document.querySelector('.say')")
	b.click("As curl")
	says("freshet sink test held", "freshet sink edit held --paused=false", "freshet sink remove held")
	b.visit("/sinks/new?kind=ntfy", "document.querySelectorAll('select option').length > 5")
	b.fill("Name", "phone")
	b.fill("URL", "https://ntfy.sh")
	b.fill("Topic (required)", "my topic")
	b.fill("Changes with these tags", "urgent")
	b.click("As curl")
	says("freshet sink add phone https://ntfy.sh --kind ntfy --tag urgent --set 'topic=my topic'")
	b.clean("lines")
}

// People, tokens and links are removed and changed by lines, too, whatever they are called.
func TestPeopleAsLines(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	if _, err := r.api.Users.Add(t.Context(), client.NewUser{Name: "ada", Role: access.Admin, Password: "correct horse"}); err != nil {
		t.Fatal(err)
	}
	r.asOwner()
	token, err := r.api.Tokens.Add(t.Context(), client.NewToken{Name: "it's; rm -rf $HOME", Scopes: []access.Right{access.Read}})
	if err != nil {
		t.Fatal(err)
	}
	share, err := r.api.Shares.Add(t.Context(), client.NewShare{Source: "board1"})
	if err != nil {
		t.Fatal(err)
	}
	b := r.tab(1440, 1000, "light")
	b.expects(401)
	b.visit("/login?next=/settings/people", "document.querySelector('form.login')")
	b.fill("User", "ada")
	b.fill("Password", "correct horse")
	b.click("Log in")
	b.await("document.querySelectorAll('tbody tr').length == 3")
	b.fill("Purpose", "it's mine")
	b.fill("Only sources with the tag", "a b")
	b.click("As curl")
	b.await("[...document.querySelectorAll('.as.wide pre')].some(e => e.textContent.includes('a b'))")
	all := b.lines()
	b.shot("lines-people")
	for _, want := range []string{
		"freshet user remove ada", "freshet user edit ada --role admin", "freshet user edit ada --password",
		"freshet user token remove " + token.ID, "freshet user share remove " + share.ID,
		`freshet user token add 'it'\''s mine' --scope read --tag 'a b' --expires 90d`,
	} {
		if !slices.Contains(all, want) {
			t.Errorf("the lines are %q, want %q among them", all, want)
		}
	}
	b.clean("lines of people")
	b.accessible("lines of people")
}
