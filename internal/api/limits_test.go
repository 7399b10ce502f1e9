package api_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
)

// What looks like a secret in a URL is shown to those who may write, and to nobody else.
func TestRevealNeedsTheRightToWrite(t *testing.T) {
	g := newGateRig(t)
	ed := g.session("ed")
	g.do("POST", "/api/v1/sources", map[string]any{"id": "keyed", "url": "https://keyed.example/?api_key=canary"}, ed...).is(201)
	_, read := g.pass(auth.Credential{Kind: auth.TokenKind, User: "ada", Name: "r", Limit: auth.Limit{Scopes: []access.Right{access.Read}}})
	_, link := g.pass(auth.Credential{Kind: auth.ShareKind, User: "ada", Limit: auth.Limit{Source: "keyed"}})
	for _, tt := range []struct {
		who    string
		header []string
		status int
	}{
		{"an editor", ed, 200}, {"a viewer", g.session("vi"), 403}, {"a token that reads", read, 403}, {"a link", link, 403},
	} {
		a := g.do("GET", "/api/v1/sources/keyed?reveal=true", nil, tt.header...)
		if shown := strings.Contains(string(a.Body), "canary"); a.Status != tt.status || shown != (tt.status == 200) {
			t.Errorf("%s gets %d, and sees the secret: %t", tt.who, a.Status, shown)
		}
		if a := g.do("GET", "/api/v1/sources/keyed", nil, tt.header...).is(200); strings.Contains(string(a.Body), "canary") {
			t.Errorf("%s sees the secret without asking for it", tt.who)
		}
	}
}

// Another site cannot have a browser change anything.
func TestOtherSitesChangeNothing(t *testing.T) {
	r := newRig(t)
	r.add("page", "/page")
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		r.do("DELETE", "/api/v1/sources/page", nil, header...).is(403)
		r.do("POST", "/api/v1/sources", `{"url": "https://a.example/"}`, append(header, "Content-Type", "text/plain")...).is(403)
	}
	r.do("GET", "/api/v1/sources/page", nil, "Sec-Fetch-Site", "cross-site").is(200) // which no script there can read
	r.do("DELETE", "/api/v1/sources/page", nil, "Sec-Fetch-Site", "same-origin").is(204)
}

// The order by next poll is the same for a second, so that pages fit together, and then anew.
func TestNextOrderIsKeptForASecond(t *testing.T) {
	var ahead atomic.Int64
	r := newRig(t, func(c *api.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	}).run()
	edit := func(method, path string, body map[string]any) { r.do(method, "/api/v1/sources"+path, body) }
	for id, gap := range map[string]string{"a": "1h", "b": "2h", "c": "3h"} {
		r.Origin.Put("/"+id, "text/plain", id)
		edit("POST", "", map[string]any{"id": id, "url": r.Origin.URL + "/" + id, "max_gap": gap})
		r.poll(id)
	}
	order := func() (ids string) {
		var page client.SourcePage
		r.do("GET", "/api/v1/sources?sort=next", nil).is(200).into(&page)
		for _, s := range page.Items {
			ids += string(s.ID)
		}
		return ids
	}
	ahead.Add(int64(time.Hour)) // so that nothing from before counts
	began := time.Now()
	if got := order(); got != "abc" {
		t.Fatalf("the order is %s", got)
	}
	edit("PATCH", "/a", map[string]any{"max_gap": "4h"})
	if got := order(); got != "abc" && time.Since(began) < time.Second {
		t.Errorf("a moment later the order is %s", got)
	}
	ahead.Add(int64(time.Second))
	if got := order(); got != "bca" {
		t.Errorf("a second later the order is %s", got)
	}
}

// What has no revision is changed under If-Match only as long as it says what was read.
func TestEditsOfWhatWasRead(t *testing.T) {
	budget := "60/m"
	told := func() client.Settings {
		return client.Settings{Items: []client.Setting{{Key: "budget", Value: budget, From: "api"}}}
	}
	r := newRig(t, func(c *api.Config) {
		c.Settings = &api.SettingsConfig{Get: told, Set: func(_ context.Context, e client.SettingsEdit) (client.Settings, api.Bounds, error) {
			budget = e.Set["budget"]
			return told(), api.Bounds{}, nil
		}}
	})
	r.add("page", "/page")
	chances := func(rate int) map[string]any {
		return map[string]any{"rate_per_day": rate, "until": time.Now().Add(time.Hour)}
	}
	r.do("PUT", "/api/v1/sources/page/chances", chances(1)).is(200)
	for _, tt := range []struct {
		method, path string
		edit, other  any
	}{
		{"PATCH", "/api/v1/settings", map[string]any{"set": map[string]string{"budget": "5/s"}}, map[string]any{"set": map[string]string{"budget": "7/s"}}},
		{"PUT", "/api/v1/sources/page/chances", chances(2), chances(3)},
		{"DELETE", "/api/v1/sources/page/chances", nil, nil},
	} {
		was := r.do("GET", tt.path, nil).is(200)
		read := was.Header.Get("ETag")
		if read == "" {
			t.Fatalf("%s has no ETag", tt.path)
		}
		r.do(tt.method, tt.path, tt.edit, "If-Match", `"0123456789abcdef"`).is(412)
		if now := r.do("GET", tt.path, nil).is(200); string(now.Body) != string(was.Body) {
			t.Errorf("%s %s changed what it refused to change: %s", tt.method, tt.path, now.Body)
		}
		if a := r.do(tt.method, tt.path, tt.edit, "If-Match", read); a.Status >= 300 {
			t.Errorf("%s %s of what was read is answered with %d", tt.method, tt.path, a.Status)
		}
		r.do(tt.method, tt.path, tt.other, "If-Match", read).is(412)
	}
}
