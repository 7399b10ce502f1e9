package ui_test

import (
	"fmt"
	"testing"

	"freshet/client"
)

// A list of another program is shown entry by entry before anything is watched.
func TestBringAList(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.web.PutHTML("/known", board(1, 1))
	r.watch(client.NewSource{ID: "known", URL: r.web.URL + "/known"})
	b := r.tab(1440, 1000, "light")
	b.visit("/start", "document.querySelector('.drop textarea')")
	b.fill("Paste a list, or drop a file here", fmt.Sprintf("name: New one\nurl: %[1]s/new\nfilter: [{css: main}, {ocr: x}]\n---\nurl: %[1]s/known\n---\nurl: http://10.0.0.1/\n", r.web.URL))
	b.fill("Tags for all of them", "brought")
	b.await("document.querySelectorAll('.numbers tbody tr').length == 3 && document.querySelector('.say[role=status]').textContent.includes('jobs of urlwatch: 1 would be watched, 1 are already, 1 cannot be')")
	b.await("document.querySelector('.numbers').textContent.includes('filter ocr is not carried over') && document.querySelector('.numbers').textContent.includes('not a public address')")
	b.clean("a plan")
	b.accessible("a plan")
	b.shot("import")
	if all, err := r.api.Sources.List(t.Context(), client.SourceQuery{}); err != nil || len(all) != 1 {
		t.Fatalf("%d sources are watched before anybody said so, %v", len(all), err)
	}
	b.click("Watch 1 page")
	b.await("document.body.textContent.includes('1 source added, 1 watched already, 1 could not be added')")
	all, err := r.api.Sources.List(t.Context(), client.SourceQuery{Tag: "brought"})
	if err != nil || len(all) != 1 || all[0].Name != "New one" || len(all[0].Read) != 1 {
		t.Errorf("brought were %+v, %v", all, err)
	}
}

// A list is fetched from its address. What it asks for beside sources is shown: conditions, and who is told.
func TestBringAListFromAnAddress(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.web.PutHTML("/shop", board(1, 1))
	r.web.Put("/watches.json", "application/json", fmt.Sprintf(`{"watching": {"w1": {"url": %q, "title": "Shop", "trigger_text": ["sale"], "notification_urls": ["discord://1/abc", "nobody://x"]}}}`, r.web.URL+"/shop"))
	b := r.tab(1440, 1000, "light")
	b.visit("/start", "document.querySelector('.drop textarea')")
	b.fill("Or the address of a list", r.web.URL+"/watches.json")
	b.click("Fetch")
	b.await("document.querySelector('.say[role=status]')?.textContent.includes('an export of changedetection.io: 1 would be watched')")
	b.await("document.body.textContent.includes('1 condition would become a query') && document.body.textContent.includes('Sinks that would be added')")
	b.await("document.querySelector('.numbers tbody td').textContent.includes('watching.w1')")
	b.clean("a plan with receivers")
	b.accessible("a plan with receivers")
	b.shot("import-receivers")
	b.click("Watch 1 page")
	b.await("document.body.textContent.includes('1 source added')")
	b.await("document.body.textContent.includes('Sinks that were added')")
	if list, err := r.api.Queries.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("there are %d queries, %v", len(list), err)
	}
}
