package extract_test

import (
	"strings"
	"testing"

	"freshet/internal/extract"
)

func TestNeedsScript(t *testing.T) {
	padding := strings.Repeat("<!-- -->", 40)
	for _, tt := range []struct {
		name, body, text string
		want             bool
	}{
		{"an application", "<div id=root></div><script src=app.js></script>", "", true},
		{"an application that says to wait", "<p>Loading</p><SCRIPT>run()</SCRIPT>" + padding, "Loading", true},
		{"an application with data", `<script type="application/json">{}</script><script>run()</script>`, "", true},
		{"a short page with data for search engines", `<p>90 EUR</p><script type="application/ld+json">{"price": 90}</script>` + padding, "90 EUR", false},
		{"a short page", "<p>Closed</p>" + padding, "Closed", false},
		{"a page with text", "<script>run()</script>" + padding, strings.Repeat("words ", 40), false},
	} {
		if got := extract.NeedsScript("text/html", []byte(tt.body), []byte(tt.text)); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
