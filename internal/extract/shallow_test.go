package extract_test

import (
	"strconv"
	"strings"
	"testing"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// Selectors work on large pages and on those whose elements nest deeper than the parser takes: what is
// too deep is the text of what is around it.
func TestLargeAndDeepPages(t *testing.T) {
	for name, tt := range map[string]struct{ page, selector, want string }{
		"6 MiB":              {"<p id=a>here</p>" + strings.Repeat("<p>"+strings.Repeat("x", 1020)+"</p>", 6<<10), "#a", "here"},
		"1000 levels":        {"<p id=a>here</p>" + strings.Repeat("<div>", 1000) + "deep" + strings.Repeat("</div>", 1000) + "<p id=b>after</p>", "#a, #b", "here\nafter"},
		"named in the deep":  {strings.Repeat("<div>", 1000) + "<p class=a>here</p>" + strings.Repeat("</div>", 1000), ".a", "here"},
		"text of the deep":   {"<div id=a>" + strings.Repeat("<div>", 1000) + "deep" + strings.Repeat("</div>", 1000) + "</div><p>after", "#a", "deep"},
		"elements left open": {strings.Repeat("<font>", 1000) + "<p id=a>here</p>", "#a", "here"},
		"formatting":         {strings.Repeat("<b>", 300) + strings.Repeat("<div>", 300) + "x" + strings.Repeat("</div>", 300) + strings.Repeat("</b>", 300) + "<p id=a>here", "#a", "here"},
		"many ends":          {strings.Repeat("<b>", 90_000) + strings.Repeat("</i>", 90_000) + "here", "b", "here"},
		"a path":             {strings.Repeat("<div>", 1000) + "<p class=a>here</p>" + strings.Repeat("</div>", 1000), "//p[@class='a']", "here"},
		"a path past 4 MiB":  {strings.Repeat("<p>"+strings.Repeat("x", 1020)+"</p>", 6<<10) + "<p id=a>here</p>", "//p[@id='a']", "here"},
		"items":              {"<ul>" + strings.Repeat("<li>x", 600) + strings.Repeat("<div>", 600) + "<i>deep</i>", "li:nth-of-type(600)", "- x deep"},
	} {
		recipe := reading.Recipe{CSS: tt.selector}
		if strings.HasPrefix(tt.selector, "/") {
			recipe = reading.Recipe{Read: []reading.Step{{Name: "xpath", Arg: strconv.Quote(tt.selector)}}}
		}
		got := textOf(t, recipe, tt.page)
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(tt.want), " ") {
			t.Errorf("%s: %s is %.80q, want %q", name, tt.selector, got, tt.want)
		}
	}
}

// What is not read as text says so, and nothing else does.
func TestIsChecksum(t *testing.T) {
	for _, tt := range []struct {
		media, body string
		want        bool
	}{
		{"image/png", "\x89PNG\r\n\x1a\n", true}, {"application/pdf", "%PDF-1.4 broken", true}, {"", "\x00\x01", true}, {strings.Repeat("x", 300) + "/y", "\x00", true},
		{"text/plain", "image/png, 8 bytes\nsha256 no\n", false}, {"text/html", "<p>8 bytes", false},
	} {
		rd, err := extract.Extract(reading.Recipe{}, freshet.Response{Body: []byte(tt.body), MediaType: tt.media})
		if err != nil || extract.IsChecksum(rd.Text) != tt.want {
			t.Errorf("%.40s %q is read as %q: %v", tt.media, tt.body, rd.Text, err)
		}
	}
}
