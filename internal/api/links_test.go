package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
)

// A link of a message does its one thing for a stranger, once somebody presses the button. That a program follows
// it does nothing.
func TestLinks(t *testing.T) {
	var all *delivery.Sinks
	g := newGateRigWith(t, func(c *api.Config) {
		all = sinksOf(t, c, "listed")
		c.Sinks = all
	})
	admin := g.session("ada")
	chat := newChat(t)
	for _, name := range []string{"phone", "mail"} {
		g.do("PUT", "/api/v1/sinks/"+name, client.NewSink{Kind: "json", URL: chat.URL, Queries: []string{"q", "other"}}, admin...).is(200)
	}
	g.do("PUT", "/api/v1/sinks/changes", client.NewSink{Kind: "json", URL: chat.URL}, admin...).is(200)
	path := func(l sinks.Link) string {
		t.Helper()
		if l.Expires.IsZero() {
			l.Expires = time.Now().Add(time.Hour)
		}
		token, err := l.Token(all.Mac)
		if err != nil {
			t.Fatal(err)
		}
		return "/links/" + token
	}
	says := func(method, path string, status int, want string) {
		t.Helper()
		body := string(g.do(method, path, nil, "Accept", "text/html").is(status).Body)
		if !strings.Contains(body, want) || strings.Contains(body, "<script") || strings.Contains(body, "<button") != (method == "GET" && status == 200) {
			t.Errorf("%s %s says %s, want %q", method, path, body, want)
		}
	}
	sink := func(name string) (s client.SinkInfo) {
		g.do("GET", "/api/v1/sinks/"+name, nil, admin...).is(200).into(&s)
		return s
	}
	query := func(id string) (q client.Query) {
		g.do("GET", "/api/v1/queries/"+id, nil, admin...).is(200).into(&q)
		return q
	}
	stop := func(sink string, id queries.ID) string {
		return path(sinks.Link{Action: sinks.Stop, Sink: sink, Query: id})
	}

	// What a scanner of mail does changes nothing.
	for _, method := range []string{"GET", "HEAD"} {
		g.do(method, stop("phone", "q"), nil).is(200)
	}
	if s := sink("phone"); s.Paused || len(s.Queries) != 2 || query("q").Paused {
		t.Errorf("following the link did something: %+v", s)
	}
	for _, tt := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", stop("phone", "q"), 200, "Nothing more of the alert “q” is sent to phone"},
		{"GET", "/links/nonsense", 404, "does not work"},
		{"POST", "/links/nonsense", 404, "does not work"},
		{"POST", strings.Replace(stop("phone", "q"), ".", ".0", 1), 404, "does not work"},
		{"POST", path(sinks.Link{Action: sinks.Stop, Sink: "phone", Query: "q", Expires: time.Now().Add(-time.Second)}), 410, "has expired"},
		{"POST", stop("phone", "nope"), 410, "is gone"},
		{"POST", stop("listed", ""), 409, "configuration file"},

		// Others who get it go on to.
		{"POST", stop("phone", "q"), 200, "Nothing of this alert is sent to phone any more."},
		{"POST", stop("phone", "q"), 200, "Nothing of this is sent to phone any more."},
		{"POST", stop("mail", "q"), 200, "The alert is paused."},
		{"POST", stop("phone", "other"), 200, "Nothing is sent to phone any more."},
		{"POST", stop("changes", ""), 200, "Nothing is sent to changes any more."},
	} {
		says(tt.method, tt.path, tt.status, tt.want)
	}
	if s := sink("phone"); !s.Paused || !slices.Equal(s.Queries, []string{"other"}) {
		t.Errorf("the phone is %+v, want it paused and not told of every change", s)
	}
	if s := sink("mail"); s.Paused || len(s.Queries) != 2 || !query("q").Paused || query("other").Paused || !sink("changes").Paused {
		t.Errorf("the mail is %+v", s)
	}

	// An acknowledgement acknowledges what the message was about.
	g.do("PATCH", "/api/v1/queries/other", map[string]any{"repeat": "1h"}, admin...).is(200)
	ack := path(sinks.Link{Action: sinks.Acknowledge, Sink: "mail", Query: "other", Number: 3})
	says("GET", ack, 200, "is not sent again. What happens later is.")
	says("POST", ack, 200, "Acknowledged")

	// A page of another site cannot press the button.
	g.do("POST", ack, nil, "Origin", "https://evil.example").is(http.StatusForbidden)

	var audit client.AuditPage
	g.do("GET", "/api/v1/audit?limit=3", nil, admin...).is(200).into(&audit)
	if e := audit.Items[0]; e.What != "acknowledge" || e.Via != "link" || e.Subject != "query other" || strings.Contains(e.Path, ".") {
		t.Errorf("the audit log says %+v", e)
	}
}
