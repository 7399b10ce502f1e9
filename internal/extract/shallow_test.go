package extract_test

import (
	"strings"
	"testing"

	"freshet/internal/freshet/reading"
)

// Selectors work on large pages and on those whose elements nest deeper than the parser takes: what is
// too deep is the text of what is around it.
func TestLargeAndDeepPages(t *testing.T) {
	for name, tt := range map[string]struct{ page, selector, want string }{
		"6 MiB":              {"<p id=a>here</p>" + strings.Repeat("<p>"+strings.Repeat("x", 1020)+"</p>", 6<<10), "#a", "here"},
		"1000 levels":        {"<p id=a>here</p>" + strings.Repeat("<div>", 1000) + "deep" + strings.Repeat("</div>", 1000) + "<p id=b>after</p>", "#a, #b", "here\nafter"},
		"text of the deep":   {"<div id=a>" + strings.Repeat("<div>", 1000) + "deep" + strings.Repeat("</div>", 1000) + "</div><p>after", "#a", "deep"},
		"elements left open": {strings.Repeat("<font>", 1000) + "<p id=a>here</p>", "#a", "here"},
		"formatting":         {strings.Repeat("<b>", 300) + strings.Repeat("<div>", 300) + "x" + strings.Repeat("</div>", 300) + strings.Repeat("</b>", 300) + "<p id=a>here", "#a", "here"},
		"many ends":          {strings.Repeat("<b>", 90_000) + strings.Repeat("</i>", 90_000) + "here", "b", "here"},
		"items":              {"<ul>" + strings.Repeat("<li>x", 600) + strings.Repeat("<div>", 600) + "<i>deep</i>", "li:nth-of-type(600)", "- x deep"},
	} {
		got := textOf(t, reading.Recipe{CSS: tt.selector}, tt.page)
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(tt.want), " ") {
			t.Errorf("%s: %s is %.80q, want %q", name, tt.selector, got, tt.want)
		}
	}
}
