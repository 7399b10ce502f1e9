package ui_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"freshet/client"
)

// A receiver takes what it is sent, unless it is told to refuse.
type receiver struct {
	*httptest.Server
	status atomic.Int64
	mu     sync.Mutex
	bodies []string
}

func (r *rig) receiver() *receiver {
	c := &receiver{}
	c.status.Store(200)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.status.Load() == 200 {
			c.bodies = append(c.bodies, string(body))
		}
		w.WriteHeader(int(c.status.Load()))
		io.WriteString(w, "thanks")
	}))
	r.Cleanup(c.Close)
	return c
}

func (c *receiver) got() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.bodies...)
}

// A sink is added, tested, held back and gone on with; what was refused is sent again, one
// by one and from a place, and always under the same ids.
func TestSinks(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	chat := r.receiver()
	b := r.tab(1440, 1000, "light")
	b.visit("/sinks", "document.querySelectorAll('tbody tr').length > 10")
	b.clean("kinds of sinks")
	b.visit("/sinks/new?kind=slack", "document.querySelectorAll('select option').length > 5")
	b.fill("Name", "ops")
	b.fill("URL", chat.URL+"/in")
	b.click("Show a sample")
	b.await("document.querySelector('.as pre')?.textContent.includes('Sample of Freshet')")
	b.accessible("a new sink")
	b.click("Save")
	b.await("location.pathname == '/sinks/ops' && document.querySelector('.say')?.textContent.includes('Works')")
	b.click("Send a test message")
	b.await("document.body.textContent.includes('Accepted: 200 OK')")

	// A URL says the kind.
	b.visit("/sinks/new", "document.querySelectorAll('select option').length > 5")
	b.fill("Name", "phone")
	b.fill("URL", "ntfy://"+chat.Listener.Addr().String()+"/topic?scheme=http")
	b.clean("a new sink by its URL")
	b.accessible("a new sink by its URL")
	b.shot("sink-by-url-1280")
	b.resize(390, 844, "dark")
	b.clean("a new sink by its URL, on a phone")
	b.shot("sink-by-url-390-dark")
	b.resize(1440, 1000, "light")
	b.click("Save")
	b.await("location.pathname == '/sinks/phone'")
	if s, err := r.api.Sinks.Get(t.Context(), "phone"); err != nil || s.Kind != "ntfy" {
		t.Errorf("the kind is %q, %v", s.Kind, err)
	}
	b.visit("/sinks/ops", "document.querySelector('.say')?.textContent.includes('Works')") // not one that is about to go
	if err := r.api.Sinks.Remove(t.Context(), "phone"); err != nil {
		t.Fatal(err)
	}

	change := func(edition int) {
		r.change("/board0", "board0", board(0, edition))
	}
	change(60)
	b.await("[...document.querySelectorAll('tbody tr')].some(e => e.title.includes('board0.') && e.textContent.includes('accepted'))")
	b.click("Pause")
	b.await("document.querySelector('.say')?.textContent.includes('Paused')")
	change(61)
	if got := chat.got(); len(got) != 2 {
		t.Errorf("a sink that is held back was sent %d messages, want the test and one change", len(got))
	}
	b.click("Resume")
	b.await("[...document.querySelectorAll('tbody tr')].filter(e => e.textContent.includes('accepted')).length == 2")

	words := func(template string) {
		if _, err := r.api.Sinks.Edit(t.Context(), "ops", map[string]any{"template": template}, 0); err != nil {
			t.Fatal(err)
		}
	}
	words(`{{if eq .Source "board0"}}{{index .Tags 9}}{{end}}`) // which fails when it is told
	change(62)
	b.await("[...document.querySelectorAll('h2')].some(e => e.textContent == 'Failed deliveries') && [...document.querySelectorAll('button')].some(e => e.textContent == 'Send again' && !e.disabled)")
	b.clean("given up")
	b.accessible("given up")
	b.shot("sink-letters")
	words("{{.ID}}")
	b.click("Send again")
	b.await("document.body.textContent.includes('1 delivery is made again')")
	b.await("[...document.querySelectorAll('tbody tr')].filter(e => e.textContent.includes('accepted')).length == 3")

	before := len(chat.got())
	b.fill("From", "0")
	log, err := r.api.Changes(t.Context(), client.ChangeQuery{Limit: 100})
	if err != nil || len(log.Items) < 10 {
		t.Fatalf("the log has %d changes, %v", len(log.Items), err)
	}
	b.click(fmt.Sprintf("Send %d again", len(log.Items)))
	b.await("document.body.textContent.includes('They are sent')")
	b.await("document.querySelectorAll('tbody tr').length >= 8")
	ids := map[string]int{}
	for len(ids) < len(log.Items) {
		clear(ids)
		for _, body := range chat.got()[before:] {
			ids[body]++
		}
		if t.Context().Err() != nil {
			t.Fatal("not all were sent again")
		}
	}
	for body, n := range ids {
		if n != 1 {
			t.Errorf("%s was sent again %d times", body, n)
		}
	}
	b.clean("sent again")
}

// The screen of a query lists the receivers of its matches.
func TestReceiversOfAQuery(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	chat := r.receiver()
	if _, err := r.api.Sinks.Add(t.Context(), "desk", client.NewSink{Kind: "json", URL: chat.URL}); err != nil {
		t.Fatal(err)
	}
	b := r.tab(1440, 1000, "light")
	b.visit("/queries/dearer", "document.body.textContent.includes('None yet')")
	b.visit("/sinks/new?kind=json&query=dearer", "document.querySelectorAll('select option').length > 5")
	b.fill("Name", "deals")
	b.fill("URL", chat.URL)
	b.click("Save")
	b.await("location.pathname == '/sinks/deals' && document.querySelector('.say')")
	b.visit("/queries/dearer", "document.querySelector('a[href=\"/sinks/deals\"]')")
	b.clean("a query with a sink")
	b.fill("From", "24h")
	b.await("[...document.querySelectorAll('button')].some(e => /^Send \\d+ again$/.test(e.textContent) && !e.disabled)")
	b.accessible("a query with a sink")
	b.shot("query-told")
}

// fill types into the field with a label, once it is there.
func (b *tab) fill(label, text string) {
	b.Helper()
	field := fmt.Sprintf("[...document.querySelectorAll('label')].find(l => l.querySelector('.label')?.textContent == %q)?.querySelector('input, textarea, select')", label)
	b.await(field)
	eval[bool](b, fmt.Sprintf(`(field => {
		field.value = %q;
		return field.dispatchEvent(new Event(field.tagName == 'SELECT' ? 'change' : 'input', {bubbles: true}));
	})(%s)`, text, field))
}

// pick chooses an option of the list with a label.
func (b *tab) pick(label, value string) {
	b.Helper()
	field := fmt.Sprintf("[...document.querySelectorAll('label')].find(l => l.querySelector('.label')?.textContent == %q)?.querySelector('select')", label)
	b.await(field)
	eval[bool](b, fmt.Sprintf("(e => { e.value = %q; return e.dispatchEvent(new Event('change', {bubbles: true})); })(%s)", value, field))
}

// click presses the button with a word.
func (b *tab) click(word string) {
	b.Helper()
	b.await(fmt.Sprintf("[...document.querySelectorAll('button')].some(e => e.textContent.trim() == %q && !e.disabled)", word))
	eval[bool](b, fmt.Sprintf("([...document.querySelectorAll('button')].find(e => e.textContent.trim() == %q && !e.disabled).click(), true)", word))
}
