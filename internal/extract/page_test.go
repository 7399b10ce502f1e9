package extract_test

import (
	"html"
	"strings"
	"testing"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

func FuzzHTML(f *testing.F) {
	for _, src := range hardPages {
		f.Add([]byte(src))
	}
	f.Add([]byte("<table><tr><td><ul><li><pre>a\n b</pre><h2>x<svg><p>y</template>"))
	f.Fuzz(func(t *testing.T, src []byte) {
		resp := freshet.Response{MediaType: "text/html; charset=utf-8", Body: src}
		rd, err := extract.Extract(reading.Recipe{Kind: reading.HTML}, resp)
		if err != nil {
			t.Fatalf("a page cannot be read: %v", err)
		}
		checkText(t, rd.Text)
		if rd, err := extract.Extract(reading.Recipe{CSS: "body, td, li"}, resp); err == nil {
			checkText(t, rd.Text)
		}
		// A text set line by line reads as itself, but for blank lines.
		var set, want strings.Builder
		for line := range strings.Lines(string(rd.Text)) {
			if line != "\n" {
				want.WriteString(line)
				set.WriteString("<pre>" + html.EscapeString(line) + "</pre>")
			}
		}
		again, err := extract.Extract(reading.Recipe{Kind: reading.HTML}, page(set.String()))
		if err != nil || string(again.Text) != want.String() {
			t.Errorf("%q reads %q when read again (%v)", want.String(), again.Text, err)
		}
	})
}
