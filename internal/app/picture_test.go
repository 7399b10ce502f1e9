package app_test

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
)

// TestPicturesAreCompared has a page whose map grows darker cell by cell and whose text is another
// each time: small differences are no change until they are one together, also after a restart.
func TestPicturesAreCompared(t *testing.T) {
	needChromium(t)
	t.Parallel()
	var dark atomic.Int32
	var polls atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><style>body{margin:0} #map{width:200px;height:100px;background:linear-gradient(#036 0 0) 0 0/%dpx 10px no-repeat, #eee}</style>
			<div id=map></div><p>Visitor %d</p>`, 20*dark.Load(), polls.Add(1))
	}))
	t.Cleanup(web.Close)
	s := settings(t)
	s.Limits.SourceGap = 0
	load := app.ServeConfig{Load: func() (config.Settings, error) { return s, nil }}
	c, url, stop := serve(t, s, load)
	_, err := c.Sources.Add(t.Context(), client.NewSource{ID: "map", URL: web.URL, MinGap: client.Duration(12 * time.Hour),
		Render: map[string]any{"compare": "picture", "region": "#map", "threshold": "2.5%"}})
	if err != nil {
		t.Fatal(err)
	}
	poll := func(cells int32, want string, version int) {
		t.Helper()
		dark.Store(cells)
		answer, err := c.Sources.Poll(t.Context(), "map", 5*time.Minute, true)
		if err != nil || answer.Outcome == nil || answer.Outcome.Result != want || version > 0 && answer.Outcome.Version != version {
			t.Fatalf("a poll of %d dark cells ended with %+v, want %s and version %d: %v", cells, answer.Outcome, want, version, err)
		}
	}
	follow(t, c, "the first version", func(o client.Outcome) bool { return o.Version == 1 })
	poll(0, "unchanged", 0)
	poll(1, "unchanged", 0) // a hundredth
	poll(2, "unchanged", 0) // another
	stop()
	c, url, stop = serve(t, s, load)
	poll(2, "unchanged", 0)
	poll(3, "changed", 2)
	poll(3, "unchanged", 0)
	page, err := c.Changes(t.Context(), client.ChangeQuery{Limit: 10})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("there are %d changes, want one: %v", len(page.Items), err)
	}
	got := page.Items[0]
	if p := got.Picture; p == nil || p.Share != 0.03 || p.Count != 1 || p.Regions[0].Width != 60 || !strings.HasPrefix(got.Summary, "3.0% of the picture changed") {
		t.Errorf("the change is %q with the picture %+v, want three hundredths", got.Summary, got.Picture)
	}
	d, err := c.Sources.Diff(t.Context(), "map", 0, 0)
	if err != nil || d.Picture == nil || d.Picture.Share != 0.03 || d.Added != 1 {
		t.Errorf("the diff has the picture %+v and %d lines: %v", d.Picture, d.Added, err)
	}
	picture, err := http.Get(url + "/api/v1/sources/map/diff?format=png")
	if err != nil {
		t.Fatal(err)
	}
	defer picture.Body.Close()
	shown, err := png.Decode(picture.Body)
	if err != nil {
		t.Fatalf("the picture of the difference (%s): %v", picture.Status, err)
	}
	if r, g, b, _ := shown.At(30, 5).RGBA(); shown.Bounds().Dx() != 200 || r < 2*g || r < b {
		t.Errorf("in a picture of %v, what changed is shown as %x %x %x, which is not red", shown.Bounds(), r, g, b)
	}
	shot, err := c.Sources.Screenshot(t.Context(), "map", 2)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := png.DecodeConfig(bytes.NewReader(shot)); err != nil || size.Width != 200 || size.Height != 100 {
		t.Errorf("the picture has %dx%d pixels: %v", size.Width, size.Height, err)
	}
}
