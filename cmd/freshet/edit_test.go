package main

import (
	"errors"
	"net/http"
	"testing"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/freshet"
)

// An edit that somebody else comes before is made once more and undoes nothing;
// if somebody comes before it again and again, it is given up.
func TestEditAfterSomebodyElse(t *testing.T) {
	s := config.Defaults(func(string) string { return "" })
	s.Data = t.TempDir()
	api, err := app.Local(t.Context(), app.Config{Settings: s}, "test", app.Reading)
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	other := client.New("http://localhost", client.InProcess(api))
	if _, err := other.Sources.Add(t.Context(), client.NewSource{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	before := 0 // edits that come before ours
	weight := 1.0
	c := &connection{Client: client.New("http://localhost", func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodPatch && before > 0 {
			before--
			weight++
			if _, err := other.Sources.Edit(req.Context(), "a", client.Patch{"weight": weight}, 0); err != nil {
				t.Error(err)
			}
		}
		return client.InProcess(api)(req)
	})}
	name := "ours"
	before = 1
	edited, err := c.edit(t.Context(), "a", client.Patch{"name": name})
	if err != nil || edited.Name != name || edited.Weight != 2 {
		t.Errorf("the edit gives %v and leaves %+v, want both edits", err, edited)
	}
	before = 2
	name = "too late"
	if _, err := c.edit(t.Context(), "a", client.Patch{"name": name}); !errors.Is(err, freshet.ErrStale) {
		t.Errorf("an edit that always comes second gives %v", err)
	}
	if now, err := other.Sources.Get(t.Context(), "a"); err != nil || now.Name != "ours" || now.Weight != 4 {
		t.Errorf("then the source is %+v (%v)", now, err)
	}
}
