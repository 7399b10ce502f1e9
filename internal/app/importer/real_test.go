package importer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"freshet/internal/app/importer"
)

// A folder of real files holds as many entries as its index says, named by FRESHET_IMPORTS.
func TestRealFiles(t *testing.T) {
	dir := os.Getenv("FRESHET_IMPORTS")
	if dir == "" {
		t.Skip("FRESHET_IMPORTS names no folder of real files")
	}
	text, err := os.ReadFile(filepath.Join(dir, "INDEX.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Files []struct {
			File, Kind string
			Expect     struct {
				Parse                string
				Jobs, Watches, Feeds int
				WebsiteOrRSSURLs     int `json:"website_or_rss_urls"`
			}
		}
	}
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	notes, clean, all := map[string]int{}, 0, 0
	for _, f := range index.Files {
		want, as := 0, importer.Format(f.Kind)
		switch f.Kind {
		case "urlwatch", "webchanges":
			want = f.Expect.Jobs
		case "changedetection", "distill":
			want = f.Expect.Watches
		case "huginn":
			want = f.Expect.WebsiteOrRSSURLs
		case "opml":
			want = f.Expect.Feeds
		default:
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.File))
		if err != nil {
			t.Fatal(err)
		}
		format, _ := importer.Detect(string(text))
		if format != as {
			t.Logf("%s is taken for %q", f.File, format)
		}
		found, wrong := 0, 0
		err = importer.Each(as, string(text), importer.Options{}, func(e importer.Entry) error {
			found++
			if e.Err != nil {
				wrong++
				t.Logf("%s %s: %v", f.File, e.At(), e.Err)
				return nil
			}
			all++
			if len(e.Notes) == 0 {
				clean++
			}
			for _, n := range e.Notes {
				notes[n[:min(len(n), 60)]]++
			}
			return nil
		})
		broken := f.Expect.Parse != "ok" || want == 0 // others refuse it; here what can be read is
		if err != nil || found != want && !broken {
			t.Errorf("%s has %d entries (%d of them wrong), want %d, parse %s; %v", f.File, found, wrong, want, f.Expect.Parse, err)
		}
	}
	t.Logf("%d of %d entries have no notes", clean, all)
	for n, times := range notes {
		t.Logf("%d times: %s", times, n)
	}
}
