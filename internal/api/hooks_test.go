package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/fetch/auth"
	"freshet/internal/fetch/secrets"
)

func TestHooks(t *testing.T) {
	now := time.Now()
	vault := secrets.Open(t.TempDir())
	r := newRig(t, func(c *api.Config) {
		c.Sources.Hooks = &auth.Hooks{Vault: vault, Store: c.Store, Now: func() time.Time { return now }}
		c.Base = "https://freshet.example/"
	}).run()
	c := client.New(r.API.URL, http.DefaultClient.Do)
	r.Origin.Put("/a", "text/plain", "one")
	a, err := c.Sources.Add(t.Context(), client.NewSource{ID: "a", URL: r.Origin.URL + "/a"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.Sources.Hook(t.Context(), a.ID, false)
	if err != nil || !strings.HasPrefix(h.Path, "/api/v1/hooks/a~") || len(h.Path) < 50 || h.URL != "https://freshet.example"+h.Path {
		t.Fatalf("the hook is %+v, %v", h, err)
	}
	if again, err := c.Sources.Hook(t.Context(), a.ID, false); err != nil || again != h {
		t.Errorf("asked again it is %+v, %v", again, err)
	}
	call := func(path string) int {
		t.Helper()
		resp, err := http.Post(r.API.URL+path, "application/json", strings.NewReader(`{"any": "thing"}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	polls := func(want int64) {
		t.Helper()
		for after := ""; ; {
			s, err := c.Sources.Get(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if s.Standing.Polls >= want {
				if s.Standing.Polls > want {
					t.Errorf("there were %d polls, want %d", s.Standing.Polls, want)
				}
				return
			}
			var page client.OutcomePage // the answer waits for a poll
			r.do("GET", "/api/v1/outcomes?wait=10s&after="+after, nil).is(200).into(&page)
			after = page.Next.String()
		}
	}
	if code := call(h.Path); code != http.StatusAccepted {
		t.Fatalf("the hook answers %d", code)
	}
	polls(1)
	if code := call(h.Path); code != http.StatusAccepted { // a moment later, which counts as the same
		t.Errorf("called again it answers %d", code)
	}
	now = now.Add(time.Minute)
	if code := call(h.Path); code != http.StatusAccepted {
		t.Errorf("a minute later it answers %d", code)
	}
	polls(2)
	for _, wrong := range []string{"/api/v1/hooks/a", "/api/v1/hooks/a~", h.Path + "0", strings.Replace(h.Path, "/a~", "/b~", 1), "/api/v1/hooks/nobody~00"} {
		if code := call(wrong); code != http.StatusNotFound {
			t.Errorf("%s answers %d", wrong, code)
		}
	}
	fresh, err := c.Sources.Hook(t.Context(), "a", true)
	if err != nil || fresh == h {
		t.Fatalf("anew it is %+v, %v", fresh, err)
	}
	if code := call(h.Path); code != http.StatusNotFound {
		t.Errorf("the old hook answers %d", code)
	}
	if err := c.Sources.RemoveHook(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if code := call(fresh.Path); code != http.StatusNotFound {
		t.Errorf("the removed hook answers %d", code)
	}
	now = now.Add(time.Minute)
	for range 20 {
		call("/api/v1/hooks/a~guess")
	}
	if code := call("/api/v1/hooks/a~guess"); code != http.StatusTooManyRequests {
		t.Errorf("the 21st guess within a second answers %d", code)
	}
}
