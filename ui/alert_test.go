package ui_test

import (
	"fmt"
	"strings"
	"testing"

	"freshet/client"
)

const kettle = `<title>Red kettle</title><script type="application/ld+json">{"@type":"Product","offers":{"price":%d,"priceCurrency":"EUR"}}</script><h1>Red kettle</h1><p>%[1]d EUR</p>`

// Somebody who has a receiver is notified of a price after six clicks on one screen, and changes the alert
// on the page of the source.
func TestAlertInSixClicks(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	chat := r.receiver()
	if err := r.api.Call(t.Context(), "PUT", "/sinks/chat", nil, client.NewSink{Kind: "json", URL: chat.URL}, nil); err != nil {
		t.Fatal(err)
	}
	r.web.PutHTML("/kettle", fmt.Sprintf(kettle, 101))
	b := r.tab(1280, 1000, "light")
	clicks := 0
	click := func(is string) { // on what an expression finds
		t.Helper()
		clicks++
		b.await(is)
		eval[bool](b, "(e => (e.focus(), e.click(), true))("+is+")")
	}
	labelled := func(label string) string { return fmt.Sprintf("document.querySelector('[aria-label=%q]')", label) }
	button := func(word string) string {
		return fmt.Sprintf("[...document.querySelectorAll('button')].find(e => e.textContent.trim() == %q && !e.disabled)", word)
	}
	choose := func(label, value string) { // opens the list, and clicks on an option
		t.Helper()
		click(labelled(label))
		clicks++
		eval[bool](b, fmt.Sprintf("(e => { e.value = %q; return e.dispatchEvent(new Event('change', {bubbles: true})); })(%s)", value, labelled(label)))
	}

	b.visit("/start", "document.querySelector('#address')")
	click("document.querySelector('#address')")
	b.press(r.web.URL + "/kettle")
	click(button("Preview"))
	choose("Notify me when", "below")
	b.await(labelled("Which number") + ".selectedOptions[0]?.textContent == 'price (101 now)'")
	b.await(labelled("Send it to") + ".value == 'chat'")
	click(labelled("Number"))
	b.press("100")
	b.await("document.querySelector('.ask').textContent.includes('now.price < 100, when it becomes true')")
	b.clean("an alert")
	b.accessible("an alert")
	b.shot("alert-1280")
	b.resize(390, 844, "light")
	b.clean("an alert on a phone")
	b.shot("alert-390")
	b.resize(1280, 1000, "light")
	click(button("Save"))
	if clicks > 6 {
		t.Errorf("it takes %d clicks", clicks)
	}
	b.await("location.pathname.startsWith('/sources/') && document.body.textContent.includes('price goes below 100')")
	b.clean("the alerts of a source")
	b.accessible("the alerts of a source")
	b.shot("alerts-1280")

	found, err := r.api.Queries.List(t.Context())
	if err != nil || len(found) != 1 || found[0].When != "now.price < 100" || found[0].Trigger != "becomes" || found[0].Scope == nil {
		t.Fatalf("the queries are %+v, %v", found, err)
	}
	b.await("document.body.textContent.includes('First version') || !document.body.textContent.includes('Waiting for the first poll')")
	r.change("/kettle", found[0].Scope.Sources[0], fmt.Sprintf(kettle, 97))
	b.await("document.body.textContent.includes('1 match')")

	// What is wrong is said before it is saved.
	click(button("Change"))
	b.await(labelled("Number") + ".value == '100' && " + labelled("Notify me when") + ".value == 'below'")
	choose("Notify me when", "custom")
	type1 := func(label, text string) {
		eval[bool](b, fmt.Sprintf("(e => { e.focus(); e.value = %q; return e.dispatchEvent(new Event('input', {bubbles: true})); })(%s)", text, labelled(label)))
	}
	type1("Condition", "now.prize < ")
	b.expects(422)
	b.await("document.querySelector('.ask .wrong') && document.querySelector('.caret')")
	b.shot("alert-wrong-1280")

	// Rows and CEL say the same, and what rows cannot say stays text.
	type1("Condition", `now.price < 90 && !text.contains("sold out")`)
	b.await(labelled("Field of row 1") + ".value == 'price' && " + labelled("Operator of row 2") + ".value == 'lacks' && " + labelled("Value of row 2") + ".value == 'sold out'")
	type1("Value of row 1", "95.")
	b.await(labelled("Condition") + `.value == 'now.price < 95 && !text.contains("sold out")' && ` + labelled("Value of row 1") + ".value == '95.'")
	b.clean("rows of a condition")
	b.accessible("rows of a condition")
	b.shot("alert-rows-1280")
	type1("Condition", "now.price * 2.0 < 90.0")
	b.await("document.querySelector('.ask').textContent.includes('Rows cannot express this')")
	type1("Condition", "now.pri")
	b.await("document.querySelector('.complete')?.textContent.includes('now.price')")
	type1("Condition", "ment")
	b.await("document.querySelector('.complete')?.textContent.includes('mentions()')")
	type1("Condition", "now.price < 90")
	b.await("document.querySelector('.ask .good')")
	click(button("Save"))
	b.await("!document.querySelector('.ask') && document.body.textContent.includes('price goes below 90')")

	// A new receiver is tried where it is named.
	click(button("Notify me"))
	choose("Notify me when", "fails")
	choose("How often it is sent", "30m")
	choose("How long it must last", "10m")
	choose("Send it to", "+")
	click(labelled("New sink"))
	b.press("generic+http://" + chat.Listener.Addr().String() + "/other")
	click(button("Send a test message"))
	b.await("document.body.textContent.includes('The test message was accepted.')")
	b.shot("alert-new-1280")
	b.resize(390, 844, "dark")
	b.clean("a new alert on a phone")
	b.shot("alert-new-390-dark")
	click(button("Save"))
	b.await("!document.querySelector('.ask') && document.body.textContent.includes('it stops working')")
	if sinks, err := r.api.Sinks.List(t.Context()); err != nil || len(sinks) != 3 {
		t.Errorf("the sinks are %+v, %v", sinks, err)
	}
	b.clean("two alerts")

	// What a watched page states is offered, before it is a value of the source.
	r.web.PutHTML("/pan", fmt.Sprintf(strings.ReplaceAll(kettle, "kettle", "pan"), 55))
	r.watch(client.NewSource{ID: "pan", URL: r.web.URL + "/pan"})
	b.visit("/sources/pan", button("Notify me"))
	click(button("Notify me"))
	choose("Notify me when", "below")
	b.await(labelled("Which number") + ".selectedOptions[0]?.textContent == 'price (55 now)'")
	click(button("Cancel"))

	// It is sent again until somebody acknowledges it.
	if found, err = r.api.Queries.List(t.Context()); err != nil || len(found) != 2 || fmt.Sprint(found[0].Window) != "map[for:10m]" || found[0].Repeat != "30m" {
		t.Errorf("the alerts are %+v, %v", found, err)
	}
	id := found[1].ID
	if _, err := r.api.Queries.Edit(t.Context(), id, map[string]any{"repeat": "1h", "trigger": "each", "when": ""}, 0); err != nil {
		t.Fatal(err)
	}
	r.change("/kettle", found[1].Scope.Sources[0], fmt.Sprintf(kettle, 96))
	b.visit("/queries/"+id, button("Acknowledge 1"))
	b.clean("a query to acknowledge")
	b.accessible("a query to acknowledge")
	b.shot("acknowledge-1280")
	b.resize(390, 844, "dark")
	b.clean("a query to acknowledge on a phone")
	b.shot("acknowledge-390-dark")
	click(button("Acknowledge 1"))
	b.await("!document.body.textContent.includes('Acknowledge 1')")
	if q, err := r.api.Queries.Get(t.Context(), id); err != nil || q.Unacknowledged != 0 {
		t.Errorf("%d are not acknowledged, %v", q.Unacknowledged, err)
	}
}
