package api_test

import (
	"slices"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/test/kit"
)

// What was read from the poll of another source is told as that, and counted once.
func TestSharedPollIsTold(t *testing.T) {
	r := newRig(t).run()
	r.Origin.Put("/page", "text/html", "<p class=price>1</p><p class=stock>2</p>")
	for id, css := range map[string]string{"price": ".price", "stock": ".stock"} {
		r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": r.Origin.URL + "/page", "select": map[string]any{"css": css}}).is(201)
	}
	if o := r.poll("price"); o.Cause != "hand" || o.Requests != 1 {
		t.Errorf("the poll was made by %s with %d requests", o.Cause, o.Requests)
	}
	for _, want := range []string{
		`freshet_polls_total{failure="",result="first"} 2`, `freshet_poll_seconds_count{result="first"} 1`,
		`freshet_requests_total 1`, `freshet_captured_versions_total 2`, `freshet_shared_polls_total 1`,
	} {
		kit.Until(t, "the metrics say "+want, func() bool {
			return strings.Contains(string(r.do("GET", "/metrics", nil).is(200).Body), "\n"+want+"\n")
		})
	}
	var log client.OutcomePage
	r.do("GET", "/api/v1/sources/stock/outcomes", nil).is(200).into(&log)
	if len(log.Items) != 1 || log.Items[0].Cause != "shared" || log.Items[0].Requests != 0 || log.Items[0].Result != "first" {
		t.Errorf("the polls of the other are told as %+v", log.Items)
	}
	var why client.Why
	r.do("GET", "/api/v1/sources/stock/why", nil).is(200).into(&why)
	if !slices.Equal(why.SharedWith, []freshet.SourceID{"price"}) || !strings.Contains(why.Sentence, "It is also read from polls of price") {
		t.Errorf("it shares its polls with %q, in words: %s", why.SharedWith, why.Sentence)
	}
}
