package ui_test

import (
	"fmt"
	"testing"

	"freshet/client"
)

// A job is something that people often do, from any screen: so many clicks and fields at most.
type job struct {
	what           string
	clicks, fields int
	do             func(j *jobs)
}

// jobs count the clicks and the fields of a job.
type jobs struct {
	*tab
	clicks, fields int
}

// on clicks on what an expression finds.
func (j *jobs) on(is string) {
	j.Helper()
	j.clicks++
	j.await(is)
	eval[bool](j.tab, "(e => (e.focus(), e.click(), true))("+is+")")
}

// press clicks on the button or link with a word.
func (j *jobs) press(word string) {
	j.Helper()
	j.on(fmt.Sprintf("[...document.querySelectorAll('button, a')].find(e => e.textContent.replace(/ [a-z]$/, '').trim() == %q && !e.disabled && e.offsetParent)", word))
}

// typed fills in a field, which takes no click if it has the focus.
func (j *jobs) typed(selector, text string) {
	j.Helper()
	j.fields++
	j.await(fmt.Sprintf("document.querySelector(%q)", selector))
	if !eval[bool](j.tab, fmt.Sprintf("document.activeElement == document.querySelector(%q)", selector)) {
		j.clicks++
	}
	eval[bool](j.tab, fmt.Sprintf("(e => { e.focus(); e.value = %q; return e.dispatchEvent(new Event('input', {bubbles: true})) && e.dispatchEvent(new Event('change', {bubbles: true})); })(document.querySelector(%q))", text, selector))
}

// chosen chooses from a list: two clicks.
func (j *jobs) chosen(selector, value string) {
	j.Helper()
	j.clicks += 2
	j.await(fmt.Sprintf("document.querySelector(%q)?.querySelector('option[value=%s]')", selector, value))
	eval[bool](j.tab, fmt.Sprintf("(e => { e.value = %q; return e.dispatchEvent(new Event('change', {bubbles: true})); })(document.querySelector(%q))", value, selector))
}

// source opens a source from any screen.
func (j *jobs) source(name string) {
	j.Helper()
	j.press("Sources")
	j.press(name)
	j.await("document.querySelector('.tabs')")
}

// Common jobs stay short, each from the overview.
func TestJobs(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	chat := r.receiver()
	if err := r.api.Call(t.Context(), "PUT", "/sinks/chat", nil, client.NewSink{Kind: "json", URL: chat.URL}, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		r.web.PutHTML(fmt.Sprintf("/p%d", i), fmt.Sprintf(kettle, 101))
	}
	r.web.PutHTML("/app", `<!doctype html><title>App</title><div id=root></div><script>document.title</script>`)
	r.watch(client.NewSource{ID: "kettle", URL: r.web.URL + "/p0", Name: "Kettle"})
	r.watch(client.NewSource{ID: "app", URL: r.web.URL + "/app", Name: "App"})
	queries := func() int {
		all, err := r.api.Queries.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	alert := func(j *jobs, path, kind string, more func()) {
		before := queries()
		j.on("document.querySelector('.bar [href=\"/start\"]')")
		j.typed("#address", r.web.URL+path)
		j.press("Preview")
		j.await("document.querySelector('[aria-label=\"Notify me when\"]')")
		j.chosen("[aria-label='Notify me when']", kind)
		more()
		j.await("document.querySelector('[aria-label=\"Send it to\"]')?.value == 'chat'")
		j.press("Save")
		j.await("location.pathname.startsWith('/sources/')")
		if queries() != before+1 {
			t.Errorf("no alert was made")
		}
	}
	for _, job := range []job{
		{"add a page", 3, 1, func(j *jobs) {
			j.on("document.querySelector('.bar [href=\"/start\"]')")
			j.typed("#address", r.web.URL+"/p1")
			j.press("Preview")
			j.press("Save")
			j.await("location.pathname.startsWith('/sources/')")
		}},
		{"price alert", 6, 2, func(j *jobs) { // five of them on the form
			alert(j, "/p2", "below", func() { j.typed("[aria-label=Number]", "100") })
		}},
		{"word alert", 6, 2, func(j *jobs) { alert(j, "/p3", "appears", func() { j.typed("[aria-label=Word]", "sold out") }) }},
		{"failing alert", 6, 0, func(j *jobs) {
			j.source("Kettle")
			j.press("Notify me")
			j.chosen("[aria-label='Notify me when']", "fails")
			j.await("document.querySelector('[aria-label=\"Send it to\"]')?.value == 'chat'")
			j.press("Save")
			j.await("document.body.textContent.includes('it stops working')")
		}},
		{"mute a part", 7, 0, func(j *jobs) {
			j.source("Kettle")
			j.on("document.querySelector('.tabs [href$=\"/settings\"]')")
			j.press("Choose an element")
			j.await("document.querySelectorAll('.elements [role=option]').length > 1")
			j.on("[...document.querySelectorAll('.elements [role=option]')].find(e => e.textContent.includes('Red kettle'))")
			j.press("Compare this")
			j.press("Save")
			j.await("document.body.textContent.includes('Saved.')")
		}},
		{"log in with a password", 9, 2, func(j *jobs) {
			j.source("Kettle")
			j.on("document.querySelector('.tabs [href$=\"/settings\"]')")
			j.chosen("#request ~ .form select, section[aria-labelledby=request] select", "basic")
			j.typed("section[aria-labelledby=request] .form label:nth-child(2) input", "ada")
			j.typed("section[aria-labelledby=request] .form label:nth-child(3) input", "${secret:shop}")
			j.press("Save")
			j.await("document.body.textContent.includes('Saved.')")
		}},
		{"render", 1, 0, func(j *jobs) {
			j.press("Render it in a browser") // of what needs attention
			j.await("document.body.textContent.includes('It is rendered from the next poll on.') || ![...document.querySelectorAll('.attention button')].some(e => e.textContent == 'Render it in a browser')")
			if s, err := r.api.Sources.Get(t.Context(), "app"); err != nil || s.Render == nil {
				t.Errorf("the page is not rendered: %+v, %v", s.Render, err)
			}
		}},
		{"share", 5, 0, func(j *jobs) {
			j.source("Kettle")
			j.press("Share")
			j.press("Make a link")
			j.await("document.querySelector('.share input')?.value.startsWith(location.origin + '/share/fl_')")
			j.press("Copy")
		}},
		{"import a list", 5, 1, func(j *jobs) {
			j.press("Sources")
			j.press("Import")
			j.typed(".drop textarea", r.web.URL+"/i1 shop\n"+r.web.URL+"/i2 shop")
			j.press("Watch 2 pages")
			j.await("document.body.textContent.includes('2 sources added')")
		}},
		{"pause", 3, 0, func(j *jobs) {
			j.source("Kettle")
			j.press("Pause")
			j.await("[...document.querySelectorAll('button')].some(e => e.textContent.trim() == 'Resume')")
		}},
	} {
		b := r.tab(1280, 900, "light")
		b.expects(422)
		b.expects(404)
		b.visit("/", "document.querySelector('.report')")
		j := &jobs{tab: b}
		job.do(j)
		b.clean(job.what)
		if j.clicks > job.clicks || j.fields > job.fields {
			t.Errorf("%s takes %d clicks and %d fields, want at most %d and %d", job.what, j.clicks, j.fields, job.clicks, job.fields)
		}
		t.Logf("%-30s %2d clicks %2d fields", job.what, j.clicks, j.fields)
	}
}
