package sinks_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/sinks"
	"freshet/internal/test/pgtest"
)

// A base is a database of a test, and a sink for it.
type base struct {
	*pgtest.Server
	name string
	conn *pgx.Conn
}

func newBase(t *testing.T, s *pgtest.Server) base {
	t.Helper()
	name := s.Database(t)
	return base{s, name, s.Connect(t, name)}
}

// sink returns a sink for the database.
func (b base) sink(more values) sinks.Sink {
	set := values{"user": pgtest.User, "password": pgtest.Password}
	for name, v := range more {
		set[name] = v
	}
	return sinks.Sink{Name: "pg", URL: profile.Value("postgres://" + b.Address + "/" + b.name), Settings: set}
}

// rows returns the answer to a query, a line a row.
func (b base) rows(t *testing.T, sql string) string {
	t.Helper()
	found, err := b.conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// heard returns the next notification.
func (b base) heard(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	n, err := b.conn.WaitForNotification(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return n.Payload
}

// told returns an attempt at telling of a change.
func told(t *testing.T, o *sinks.Outlet, m sinks.Message) string {
	t.Helper()
	answer, err := o.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestPostgres(t *testing.T) {
	server := pgtest.Start(t)
	tests := []struct {
		name string
		try  func(*testing.T, base)
	}{
		{"a table", tryTable}, {"a channel", tryChannel}, {"both", tryTableAndChannel}, {"errors", tryErrors}, {"a restart", tryRestart}, {"a password in the clear", tryClear},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.try(t, newBase(t, server)) })
	}
}

// A table has every change once, whatever is sent again.
func tryTable(t *testing.T, b base) {
	o := opened(t, b.sink(values{"table": "changes", "create": "true"}), trusting(b.Roots))
	m := message(t)
	m.Source = "page"
	if got := told(t, o, m); got != "added to table changes" {
		t.Errorf("answered %q", got)
	}
	if got := told(t, o, m); got != "table changes had it already" {
		t.Errorf("a repeat was answered %q", got)
	}
	odd := sinks.Message{ID: "odd", Source: "page", Body: []byte(`{"subject":7,"text":"a\u0000b \\u0000"}`)}
	told(t, o, odd)
	told(t, opened(t, b.sink(values{"table": "public.changes", "create": "true"}), trusting(b.Roots)), odd) // which is the same table
	want := "1 page freshet.change http://page.example/?a=1&b=2 2026-03-01 12:00:00.123457+00 +1 -1 line: <b>\"new\"</b> 3\n" + "odd page - - - - -"
	got := b.rows(t, `SELECT concat_ws(' ', CASE WHEN id = 'odd' THEN id ELSE '1' END, source, coalesce(type, '-'), coalesce(subject, '-'), coalesce(time::text, '-'), coalesce(summary, '-'),
		coalesce(event->'data'->>'seq', '-')) FROM changes ORDER BY 1`)
	if got != want {
		t.Errorf("the table has\n%s\nwant\n%s", got, want)
	}
	if got := b.rows(t, `SELECT event->>'text' FROM changes WHERE id = 'odd'`); got != "a\uFFFDb \\u0000" {
		t.Errorf("a text with NUL became %q", got)
	}
	if got := b.rows(t, `SELECT id FROM changes WHERE id <> 'odd'`); got != m.ID {
		t.Errorf("the id is %q, want %q", got, m.ID)
	}
	if got := b.rows(t, "SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'freshet' AND datname = current_database()"); got != "2" {
		t.Errorf("two sinks hold %s connections", got)
	}
}

// Who listens hears the event, without its data if that is more than a notification takes.
func tryChannel(t *testing.T, b base) {
	if _, err := b.conn.Exec(t.Context(), `LISTEN "Page changes"`); err != nil {
		t.Fatal(err)
	}
	o := opened(t, b.sink(values{"channel": "Page changes"}), trusting(b.Roots))
	m := message(t)
	if got := told(t, o, m); got != "notified Page changes" {
		t.Errorf("answered %q", got)
	}
	if got := b.heard(t); got != string(m.Body) {
		t.Errorf("heard %s, want %s", got, m.Body)
	}
	long := m
	long.Body = fmt.Appendf(nil, `{"id":"x","datacontenttype":"application/json","data":{"summary":%q}}`, strings.Repeat("long ", 2000))
	told(t, o, long)
	if got := b.heard(t); got != `{"id":"x"}` {
		t.Errorf("heard %s of a long event", got)
	}
	long.Body = []byte(strings.Repeat("long ", 2000))
	if _, err := o.Send(t.Context(), long); err == nil || !strings.Contains(err.Error(), "413") {
		t.Errorf("a text that is too long fails with %v", err)
	}
}

// Who hears of a row finds it, and hears of it once.
func tryTableAndChannel(t *testing.T, b base) {
	if _, err := b.conn.Exec(t.Context(), `LISTEN changes`); err != nil {
		t.Fatal(err)
	}
	o := opened(t, b.sink(values{"table": "changes", "create": "true", "channel": "changes"}), trusting(b.Roots))
	first, second := message(t), message(t)
	second.ID = "second"
	told(t, o, first)
	told(t, o, first)
	if got := told(t, o, second); got != "added to table changes and notified changes" {
		t.Errorf("answered %q", got)
	}
	if b.heard(t); b.rows(t, "SELECT count(*)::text FROM changes") != "2" {
		t.Error("the rows are not there")
	}
	b.heard(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if n, err := b.conn.WaitForNotification(ctx); err == nil {
		t.Errorf("a repeat is told again: %v", n)
	}
}

// What goes wrong says what to do, and never the password.
func tryErrors(t *testing.T, b base) {
	if _, err := b.conn.Exec(t.Context(), `CREATE TABLE own (id text, event jsonb); CREATE ROLE guest LOGIN PASSWORD 'guest-pass-word'; CREATE TABLE closed (id text PRIMARY KEY, source text, type text, subject text, time timestamptz, summary text, event jsonb)`); err != nil {
		t.Fatal(err)
	}
	none := x509.NewCertPool()
	shut := func(c *sinks.Config) {
		c.Dial = fetch.Config{Ports: []uint16{netip.MustParseAddrPort(b.Address).Port()}}.Dialer
	}
	tests := []struct {
		name       string
		sink       sinks.Sink
		with       func(*sinks.Config)
		want, hint string
	}{
		{"no table", b.sink(values{"table": "nothing"}), trusting(b.Roots), "42P01", "set create to true"},
		{"another table", b.sink(values{"table": "own"}), trusting(b.Roots), "42703", "PRIMARY KEY"},
		{"a wrong password", b.sink(values{"table": "own", "password": "other-pass-word"}), trusting(b.Roots), "28P01", "user and password"},
		{"no rights", b.sink(values{"table": "closed", "user": "guest", "password": "guest-pass-word"}), trusting(b.Roots), "42501", "GRANT SELECT, INSERT ON closed TO guest"},
		{"no database", func() sinks.Sink {
			s := b.sink(values{"table": "own"})
			s.URL = profile.Value("postgres://" + b.Address + "/nothing")
			return s
		}(), trusting(b.Roots), "3D000", "create the database"},
		{"nobody's certificate", b.sink(values{"table": "own"}), trusting(none), "certificate", "SSL_CERT_FILE"},
		{"an address that is not open", b.sink(values{"table": "own"}), shut, "not a public address", "--allow-cidr"},
		{"nobody there", sinks.Sink{Name: "pg", URL: "postgres://127.0.0.1:1/db", Settings: values{"table": "a", "user": "me"}}, trusting(b.Roots), "refused", ""},
		{"a socket", sinks.Sink{Name: "pg", URL: "postgres://%2Fvar%2Frun/db", Settings: values{"table": "a", "user": "me"}}, trusting(b.Roots), "is not a URL", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := sinks.Open(config(tt.with), tt.sink)
			if err == nil {
				defer s.Close()
				_, err = s.Send(t.Context(), message(t))
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "pass-word") || strings.ContainsAny(err.Error(), "\n\t") {
				t.Errorf("fails with %v, want %s", err, tt.want)
			}
			if !strings.Contains(freshet.HintOf(err), tt.hint) {
				t.Errorf("the hint is %q, want %s", freshet.HintOf(err), tt.hint)
			}
		})
	}
}

// A server that was restarted meanwhile costs no attempt, and one that is down costs those
// that are made meanwhile.
func tryRestart(t *testing.T, b base) {
	o := opened(t, b.sink(values{"table": "changes", "create": "true", "tls": "none"}), nil)
	sends(t, o, "page", "a")
	b.Stop(t)
	b.Resume(t)
	sends(t, o, "page", "a", "b")
	b.Stop(t)
	fails(t, o, "refused")
	b.Resume(t)
	sends(t, o, "page", "c")
	b.conn = b.Connect(t, b.name)
	if got := b.rows(t, "SELECT string_agg(id, ' ' ORDER BY received) FROM changes"); got != "a b c" {
		t.Errorf("the table has %s", got)
	}
}

// A server that asks for the password itself is told it over TLS only.
func tryClear(t *testing.T, b base) {
	hba := b.rows(t, "SHOW hba_file")
	rules := "COPY (VALUES ('host all plain all password'), ('host all all all scram-sha-256')) TO '" + hba + "'"
	if _, err := b.conn.Exec(t.Context(), "CREATE ROLE plain SUPERUSER LOGIN PASSWORD 'plain-pass-word'; "+rules); err != nil {
		t.Fatal(err)
	}
	b.Stop(t)
	b.Resume(t)
	set := values{"table": "changes", "create": "true", "user": "plain", "password": "plain-pass-word"}
	sends(t, opened(t, b.sink(set), trusting(b.Roots)), "page", "a")
	set["tls"] = "none"
	fails(t, opened(t, b.sink(set), nil), "in the clear")
}

// Settings that cannot work are refused when the sink is saved.
func TestPostgresSettings(t *testing.T) {
	ok := values{"user": "me", "table": "changes"}
	with := func(more values) values {
		set := values{}
		for _, v := range []values{ok, more} {
			for name, value := range v {
				set[name] = value
			}
		}
		return set
	}
	tests := []struct {
		name string
		sink sinks.Sink
		want string // "" means that it is taken
	}{
		{"all there is", sinks.Sink{URL: "postgres://db.example/d", Settings: with(values{"channel": "c", "create": "true", "tls": "none"})}, ""},
		{"the URL of a library", sinks.Sink{URL: "postgresql://me:word@db.example:5433/d?sslmode=disable&table=changes"}, ""},
		{"a secret in the URL", sinks.Sink{URL: "postgres://me:${secret:db}@db.example/d?table=changes"}, ""},
		{"a template of JSON", sinks.Sink{URL: "postgres://db.example/d", Settings: ok, Template: `{"title": {{json .Title}}}`}, ""},
		{"a template of text", sinks.Sink{URL: "postgres://db.example/d", Settings: ok, Template: `{{.Title}}`}, "does not make JSON"},
		{"nowhere to go", sinks.Sink{URL: "postgres://db.example/d", Settings: values{"user": "me"}}, "needs a table, or a channel"},
		{"no user", sinks.Sink{URL: "postgres://db.example/d", Settings: values{"table": "t"}}, "settings.user"},
		{"no database", sinks.Sink{URL: "postgres://db.example", Settings: ok}, "names no database"},
		{"a table that is none", sinks.Sink{URL: "postgres://db.example/d", Settings: with(values{"table": `a" (id) --`})}, "is not a table"},
		{"a channel that is too long", sinks.Sink{URL: "postgres://db.example/d", Settings: with(values{"channel": profile.Value(strings.Repeat("c", 64))})}, "is not a channel"},
		{"TLS without trust", sinks.Sink{URL: "postgres://db.example/d?sslmode=require", Settings: ok}, "sslmode is verify-full"},
		{"a file of this machine", sinks.Sink{URL: "postgres://db.example/d?sslkey=/etc/shadow", Settings: ok}, `"sslkey" cannot be set`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.sink.Name = "pg"
			o, err := sinks.Open(config(nil), tt.sink)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("refused with %v, want %s", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(sinks.Shown(o.Sink()))
			if strings.Contains(string(text), "word@") || o.Sink().Kind != "postgres" {
				t.Errorf("it is shown as %s", text)
			}
		})
	}
}
