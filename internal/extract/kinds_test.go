package extract_test

import (
	"net/http"
	"strings"
	"testing"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

const smallFeed = `<rss version="2.0"><channel><title>Река</title><item><title>Три моста закрыты</title><guid>1</guid></item></channel></rss>`

// What a response is shows by its look and its name where the media type says little.
func TestKinds(t *testing.T) {
	csv := "Name;Price\nAlpha;10,5\nBeta;12\n"
	tests := []struct {
		name, media, url string
		body             []byte
		want             reading.Kind
		text             string // that the reading has in it
	}{
		{"a feed in UTF-16 with a mark", "application/rss+xml", "", append([]byte("\xff\xfe"), utf16le(`<?xml version="1.0" encoding="UTF-16"?>`+smallFeed)...), reading.Feed, "Три моста закрыты"},
		{"a feed in UTF-16 without a mark", "text/xml; charset=utf-16", "", encoded(t, "utf-16be", `<?xml version="1.0" encoding="utf-16"?>`+smallFeed), reading.Feed, "Три моста закрыты"},
		{"a feed in UTF-16 of no type", "", "", append([]byte("\xfe\xff"), encoded(t, "utf-16be", `<?xml version="1.0" encoding="utf-16"?>`+smallFeed)...), reading.Feed, "Три моста закрыты"},
		{"a page in UTF-16 of no type", "application/octet-stream", "", utf16le("<!doctype html><p>" + german), reading.HTML, german},
		{"JSON in UTF-16", "application/json", "", utf16le(`{"a": "ü"}`), reading.JSON, `"a": "ü"`},
		{"guarded JSON", "application/json; charset=utf-8", "", []byte(")]}'\n{\"b\": 1, \"a\": 2}"), reading.JSON, "\"a\": 2"},
		{"guarded JSON with a comma, of no type", "", "", []byte(")]}',\n[1,2]"), reading.JSON, "[\n"},
		{"JSON behind a loop", "text/json", "", []byte("while(1);[3]"), reading.JSON, "3"},
		{"CSV of no type", "application/octet-stream", "", []byte(csv), reading.CSV, "Alpha;10,5"},
		{"CSV as a download", "application/force-download", "", []byte(csv), reading.CSV, "Beta"},
		{"CSV as a plain file", "text/plain", "https://raw.example/data/prices.CSV?ref=main", []byte(csv), reading.CSV, "Beta"},
		{"CSV as a spreadsheet", "application/vnd.ms-excel", "https://x.example/export.csv", []byte(csv), reading.CSV, "Beta"},
		{"prose of no type", "application/octet-stream", "", []byte("First, a line.\nThen another.\nAnd, last, a third.\n"), reading.Text, "Then another."},
		{"prose called CSV", "text/plain", "https://x.example/a.csv", []byte("First, a line.\nThen another.\nAnd, last, a third.\n"), reading.Text, "Then another."},
	}
	for _, tt := range tests {
		rd, err := extract.Extract(reading.Recipe{}, freshet.Response{URL: tt.url, MediaType: tt.media, Body: tt.body})
		if err != nil || rd.Kind != tt.want || !strings.Contains(string(rd.Text), tt.text) {
			t.Errorf("%s: it is read as %s %q (%v), want %s with %q", tt.name, rd.Kind, rd.Text, err, tt.want, tt.text)
		}
		if tt.want == reading.CSV && rd.Items.Len() != 2 {
			t.Errorf("%s: it has %d items", tt.name, rd.Items.Len())
		}
	}
	named := freshet.Response{MediaType: "text/plain", Body: []byte(csv), Header: http.Header{"Content-Disposition": {`attachment; filename="p.csv"`}}}
	if rd, err := extract.Extract(reading.Recipe{}, named); err != nil || rd.Kind != reading.CSV {
		t.Errorf("a file that is named CSV is read as %s (%v)", rd.Kind, err)
	}
	// A child process knows as much of the response.
	r := newReader(t, extract.ReaderConfig{})
	rd, err := r.Read(t.Context(), reading.Recipe{Read: chainOf(t, `[{jq: '.[0].Name'}]`)}, named)
	if err != nil || string(rd.Text) != "Alpha\n" {
		t.Errorf("the first name is %q (%v)", rd.Text, err)
	}
}

// A jq program reads YAML.
func TestJQOfYAML(t *testing.T) {
	const config = "# settings\nservers:\n  - name: a\n    port: 80\n  - name: b\n    port: 443\n"
	for _, tt := range []struct{ media, text, program, want string }{
		{"application/yaml", config, ".servers[].port", "80\n443\n"},
		{"text/plain", config, ".servers[1].name", "b\n"},
		{"text/x-yaml", "---\na: 1\n---\na: 2.50\n", ".a", "1\n2.5\n"},
		{"application/yaml", "- x\n", ".[0]", "x\n"},
		{"text/plain", "Just a sentence: it is no YAML: at all\n", ".", ""},
		{"application/yaml", "a: [\n", ".", ""},
	} {
		rd, err := extract.Extract(reading.Recipe{Read: chainOf(t, `[{jq: '`+tt.program+`'}]`)}, freshet.Response{MediaType: tt.media, Body: []byte(tt.text)})
		if string(rd.Text) != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%s of %q gives %q (%v), want %q", tt.program, tt.text, rd.Text, err, tt.want)
		}
	}
}
