package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"freshet/client"
)

// Each element that says something is listed with a selector that finds it alone, and the
// rendered page marks it.
func TestOutline(t *testing.T) {
	r := newRig(t).run()
	const page = `<title>T</title><body><nav class="top">Home <a>News</a></nav><script>document.write("no")</script>
<main id="m"><h1>Tenders</h1><table><tr><td>1<td>Street</tr><tr><td>2<td>Bridge</tr></table><div><div><p class="a b">Only</p></div></div>
<p class="a">One</p><p class="a">Two</p><p id="3x">Odd</p><p id="dup">x</p><p id="dup">y</p></main>`
	r.Origin.Put("/page", "text/html", page)
	r.add("page", "/page")
	r.poll("page")
	o := readJSON[client.Outline](t, r.do("GET", "/api/v1/sources/page/versions/latest/outline", nil))
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, i := range o.Items {
		found := cascadia.QueryAll(doc, cascadia.MustCompile(i.Selector))
		if len(found) != 1 || found[0].Data != i.Tag {
			t.Errorf("%s finds %d elements, want the one %s that says %q", i.Selector, len(found), i.Tag, i.Text)
		}
		said = append(said, i.Selector+" "+i.Text)
		shown := string(r.do("GET", fmt.Sprintf("/api/v1/sources/page/versions/latest/rendered?mark=%d", i.Number), nil).is(200).Body)
		if n := strings.Count(shown, `id="freshet-mark"`); n != 1 || strings.Contains(shown, "<script") {
			t.Errorf("element %d is marked %d times in %s", i.Number, n, shown)
		}
	}
	for _, want := range []string{"#m Tenders 1 Street 2 Bridge Only One Two Odd x y", "nav.top Home News", "#m > div Only", "#m > table > tbody > tr:nth-of-type(2) > td:nth-of-type(2) Bridge"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("%q is not listed in\n%s", want, strings.Join(said, "\n"))
		}
	}
	if strings.Contains(strings.Join(said, "\n"), "document.write") {
		t.Error("a script is listed")
	}
	r.do("GET", "/api/v1/sources/page/versions/latest/rendered?mark=9999", nil).is(200)
	r.Origin.Put("/text", "text/plain", "x")
	r.add("text", "/text")
	r.poll("text")
	r.do("GET", "/api/v1/sources/text/versions/latest/outline", nil).is(409)
}
