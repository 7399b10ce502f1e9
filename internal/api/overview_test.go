package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/client"
	"freshet/internal/api"
)

// TestOverview holds what a person is told first, without a daemon and with one.
func TestOverview(t *testing.T) {
	r := newRig(t, func(c *api.Config) { c.Sinks = sinksOf(t, c, "chat") })
	for _, id := range []string{"a", "b", "c", "d"} {
		r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": r.Origin.URL + "/" + id}).is(201)
	}
	r.do("PATCH", "/api/v1/sources/d", map[string]any{"paused": true}).is(200)
	var o client.Overview
	r.do("GET", "/api/v1/overview", nil).is(200).into(&o)
	if o.Status.Running || len(o.Attention) != 1 || o.Attention[0].Kind != "stopped" || o.Attention[0].Command != "freshet serve" {
		t.Errorf("without a daemon: %+v", o.Attention)
	}

	r.run()
	for _, text := range []string{"one", "two", "three"} {
		r.Origin.Put("/a", "text/plain", text)
		r.do("POST", "/api/v1/sources/a/poll", nil).is(200)
	}
	r.do("POST", "/api/v1/sources/b/poll", nil).is(200) // there is no such page
	o = client.Overview{}
	r.do("GET", "/api/v1/overview", nil).is(200).into(&o)
	if want := (client.StateCounts{All: 4, Failing: 1, Paused: 1, Unseen: 1}); o.Sources != want {
		t.Errorf("sources: %+v, want %+v", o.Sources, want)
	}
	want := []client.Attention{{Kind: "failing", Text: "1 source is failing: " + client.Address(r.Origin.URL) + "/b (http.404)", Command: "freshet list --failing"}}
	if diff := cmp.Diff(want, o.Attention); diff != "" {
		t.Errorf("attention (-want +got):\n%s", diff)
	}
	if len(o.Changes) != 2 || o.Changes[0].Seq != 2 || o.Changes[0].Source != "a" {
		t.Errorf("the latest changes: %+v", o.Changes)
	}
	if len(o.Status.Sinks) != 1 {
		t.Errorf("webhooks: %+v", o.Status.Sinks)
	}
}
