package sinks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/lazyregexp"
)

// postgresKind hands changes to a database.
var postgresKind = &kind{
	Kind: Kind{Name: "postgres", About: "a table of PostgreSQL, or a channel that programs LISTEN to", URL: "postgres://db.example:5432/DATABASE", Settings: []Setting{
		{Name: "table", About: "where to add a row for each change, such as changes or feeds.changes"},
		{Name: "create", About: "true creates the table if it is missing"},
		{Name: "channel", About: "to NOTIFY, instead of a table or besides"},
		{Name: "user", About: "name at the server", Needed: true}, {Name: "password", About: "of the user", Secret: true},
		{Name: "tls", About: "verify or none; verify is the default"},
	}},
	schemes: []string{"postgres", "postgresql"}, check: checkPostgres, frame: frameEvent, open: openPostgres,
}

// columns are those of a table of changes. The id is the key, so that what is sent again is
// no second row.
const columns = `(
  id text PRIMARY KEY,
  source text NOT NULL,
  type text,
  subject text,
  time timestamptz,
  summary text,
  event jsonb NOT NULL,
  received timestamptz NOT NULL DEFAULT now()
)`

var (
	tableName   = lazyregexp.New(`^[\pL_][\pL\pN_$]{0,62}(\.[\pL_][\pL\pN_$]{0,62})?$`)
	channelName = lazyregexp.New(`^[^\x00]{1,63}$`)
)

// checkPostgres judges where a change is to go.
func checkPostgres(s Sink) error {
	table, channel := s.Settings["table"], s.Settings["channel"]
	switch {
	case table == "" && channel == "":
		return invalid.Errorf("settings.table", "is missing; postgres needs a table, or a channel to NOTIFY")
	case table != "" && !table.Secret() && !tableName.MatchString(string(table)):
		return invalid.Errorf("settings.table", "%q is not a table such as changes or feeds.changes", table)
	case channel != "" && !channel.Secret() && !channelName.MatchString(string(channel)):
		return invalid.Errorf("settings.channel", "%q is not a channel of up to 63 bytes", channel)
	}
	if table != "" && s.Template != "" {
		if made, err := sampled(s); err == nil && !json.Valid([]byte(made)) {
			return freshet.WithHint(invalid.Errorf("template", "does not make JSON, which is what the table takes"), `write for instance {"title": {{json .Title}}}`)
		}
	}
	u, err := url.Parse(string(s.URL))
	if err == nil && strings.Trim(u.Path, "/") == "" && !s.URL.Secret() {
		return invalid.Errorf("url", "names no database; write it as postgres://HOST:PORT/DATABASE")
	}
	return errors.Join(oneOf("create", "true", "false")(s), oneOf("tls", "verify", "none")(s))
}

// takePostgres reads postgres://user:password@host:port/database?sslmode=verify-full
func takePostgres(s *Sink, u shorthand) error {
	if u.Host == "" {
		return u.wrong("USER:PASSWORD@HOST:PORT/DATABASE")
	}
	s.Kind, s.URL = "postgres", u.text("postgres://"+u.Host+u.EscapedPath())
	if u.User != nil {
		u.set(s, "user", u.User.Username())
		u.set(s, "password", u.password())
	}
	for name, value := range u.Query() {
		switch {
		case name == "sslmode" && value[0] == "disable":
			u.set(s, "tls", "none")
		case name == "sslmode" && (value[0] == "verify-full" || value[0] == "verify-ca"):
			u.set(s, "tls", "verify")
		case name == "sslmode":
			return invalid.Errorf("url", "sslmode is verify-full, or disable to send in the clear; nothing in between is kept to")
		case name == "table" || name == "channel" || name == "create":
			u.set(s, name, value[0])
		default:
			return invalid.Errorf("url", "%q cannot be set in the URL; sslmode, table, channel and create can", name)
		}
	}
	return nil
}

// A scribe writes to a database over one connection, which it keeps.
type scribe struct {
	*Outlet
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	turn chan struct{} // taken by who uses the connection
	conn *pgconn.PgConn
	with string // what it was connected with
}

func openPostgres(o *Outlet) (sender, error) {
	return &scribe{Outlet: o, dial: o.cfg.Dial(5432), turn: make(chan struct{}, 1)}, nil
}

func (p *scribe) close() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.leave()
	return nil
}

// leave closes the connection.
func (p *scribe) leave() {
	if p.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.cfg.Timeout)
	defer cancel()
	_ = p.conn.Close(ctx) // whatever it was sent has been answered
	p.conn = nil
}

func (p *scribe) send(ctx context.Context, f filled, m Message) (string, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	kept, err := p.connect(ctx, f)
	if err != nil {
		return "", p.explain(f, err)
	}
	answer, err := p.write(ctx, f, m)
	if err != nil && kept && p.conn.IsClosed() && ctx.Err() == nil { // the server has closed it meanwhile
		if _, err = p.connect(ctx, f); err == nil {
			answer, err = p.write(ctx, f, m)
		}
	}
	return answer, p.explain(f, err)
}

// connect sees to a connection and reports whether it is the one from before.
func (p *scribe) connect(ctx context.Context, f filled) (kept bool, err error) {
	with := strings.Join([]string{f.url, f.settings["user"], f.settings["password"], f.settings["tls"], f.settings["table"]}, "\n")
	if p.conn != nil && !p.conn.IsClosed() && p.with == with {
		return true, nil
	}
	p.leave()
	cfg, err := p.reach(f)
	if err != nil {
		return false, err
	}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if failed, ok := errors.AsType[*freshet.FetchError](err); ok { // it could not be reached
		return false, fmt.Errorf("connect to PostgreSQL: %w", failed)
	}
	if failed, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return false, fmt.Errorf("connect to PostgreSQL: %w", failed.Unwrap())
	}
	if err != nil {
		return false, err
	}
	p.conn, p.with = conn, with
	if f.settings["create"] != "true" || f.settings["table"] == "" {
		return false, nil
	}
	_, err = p.conn.Exec(ctx, "SET client_min_messages = error; CREATE TABLE IF NOT EXISTS "+quote(f.settings["table"])+" "+columns).ReadAll()
	return false, err
}

// reach returns how to connect. Nothing of it comes from the environment or from files, which
// the library would look at: a user who adds a sink must not have those read.
func (p *scribe) reach(f filled) (*pgconn.Config, error) {
	u, err := url.Parse(f.url)
	if err != nil || u.Hostname() == "" || strings.ContainsAny(u.Hostname(), "/@") { // a path would be a socket
		return nil, errors.New("the url names no server")
	}
	port := uint64(5432)
	if u.Port() != "" {
		if port, err = strconv.ParseUint(u.Port(), 10, 16); err != nil {
			return nil, errors.New("the port in the url is not one")
		}
	}
	cfg, err := pgconn.ParseConfig("host=none port=5432 user=none password=none database=none sslmode=disable target_session_attrs=any connect_timeout=0")
	if err != nil {
		return nil, err
	}
	cfg.Host, cfg.Port, cfg.Fallbacks = u.Hostname(), uint16(port), nil
	cfg.Database, cfg.User, cfg.Password = strings.Trim(u.Path, "/"), f.settings["user"], f.settings["password"]
	cfg.RuntimeParams = map[string]string{"application_name": "freshet"}
	cfg.DialFunc = p.dial
	cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil } // the dialer does, by its rules
	cfg.TLSConfig, cfg.RequireAuth = p.cfg.TLS(u.Hostname()), ""
	if f.settings["tls"] == "none" {
		cfg.TLSConfig, cfg.RequireAuth = nil, "!password" // it would be read by everybody on the way
	}
	return cfg, nil
}

// quote returns a name as SQL has it, with its schema if there is one.
func quote(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		parts[i] = `"` + strings.ReplaceAll(part, `"`, `""`) + `"`
	}
	return strings.Join(parts, ".")
}

// write adds a row, notifies, or both in one transaction: a listener that is notified of a row
// finds it. A row that is there already is not notified again.
func (p *scribe) write(ctx context.Context, f filled, m Message) (string, error) {
	table, channel := f.settings["table"], f.settings["channel"]
	if table == "" {
		payload, err := shortened(m)
		if err != nil {
			return "", err
		}
		err = p.conn.ExecParams(ctx, "SELECT pg_notify($1, $2)", [][]byte{[]byte(channel), payload}, nil, nil, nil).Read().Err
		return "notified " + channel, err
	}
	sql := "INSERT INTO " + quote(table) + " (id, source, type, subject, time, summary, event) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING"
	args := row(m)
	if channel != "" {
		payload, err := shortened(m)
		if err != nil {
			return "", err
		}
		sql, args = "WITH added AS ("+sql+" RETURNING id) SELECT pg_notify($8, $9) FROM added", append(args, []byte(channel), payload)
	}
	done := p.conn.ExecParams(ctx, sql, args, nil, nil, nil).Read()
	switch {
	case done.Err != nil:
		return "", done.Err
	case done.CommandTag.RowsAffected() == 0:
		return "table " + table + " had it already", nil
	case channel != "":
		return "added to table " + table + " and notified " + channel, nil
	}
	return "added to table " + table, nil
}

// row returns what goes into the columns. What a template leaves out is null.
func row(m Message) [][]byte {
	body := withoutNUL(m.Body)
	var e struct {
		Type, Subject, Time *string
		Data                struct{ Summary *string }
	}
	if json.Unmarshal(body, &e) != nil { // some of it is of another type in a template
		e.Type, e.Subject, e.Time, e.Data.Summary = nil, nil, nil, nil
	}
	text := func(s *string) []byte {
		if s == nil || *s == "" {
			return nil
		}
		return []byte(*s)
	}
	source := string(m.Source)
	if source == "" { // several of a query
		source = m.line()
	}
	return [][]byte{[]byte(m.ID), []byte(source), text(e.Type), text(e.Subject), text(e.Time), text(e.Data.Summary), body}
}

// withoutNUL replaces the one character that JSON can hold and PostgreSQL cannot.
func withoutNUL(body []byte) []byte {
	var b []byte
	for i := 0; i < len(body); i++ {
		switch {
		case body[i] != '\\' || i+1 == len(body):
			b = append(b, body[i])
		case strings.HasPrefix(string(body[i:min(i+6, len(body))]), `\u0000`):
			b = append(b, `\ufffd`...)
			i += 5
		default: // what is escaped, which may be a backslash
			b = append(b, body[i], body[i+1])
			i++
		}
	}
	return b
}

// mostPayload is how many bytes PostgreSQL takes in a notification.
const mostPayload = 7999

// shortened returns what is sent with a notification: the event, or if that is too long the
// event without its data.
func shortened(m Message) ([]byte, error) {
	if len(m.Body) <= mostPayload {
		return m.Body, nil
	}
	var e map[string]json.RawMessage
	if json.Unmarshal(m.Body, &e) == nil {
		delete(e, "data")
		delete(e, "datacontenttype")
		if short, err := json.Marshal(e); err == nil && len(short) <= mostPayload {
			return short, nil
		}
	}
	return nil, &Refusal{Status: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf("a notification takes up to %d bytes", mostPayload)}
}

// explain says what can be done about an error.
func (p *scribe) explain(f filled, err error) error {
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		return p.refused(f, said)
	}
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "server refused TLS"):
		return freshet.WithHint(errors.New("the server offers no TLS"), "turn ssl on at the server, or set tls to none to send in the clear")
	case strings.Contains(err.Error(), "require_auth"):
		return freshet.WithHint(errors.New("the server asks for the password in the clear"), "set tls to verify, or have the server use scram-sha-256")
	}
	return err
}

// refused says what can be done about an answer of the server.
func (p *scribe) refused(f filled, said *pgconn.PgError) error {
	err, table := fmt.Errorf("PostgreSQL answered %s: %s", said.Code, said.Message), f.settings["table"]
	switch said.Code {
	case "42P01": // there is no such table
		return freshet.WithHint(err, "set create to true, or create the table: CREATE TABLE "+table+" "+columns)
	case "42703", "42P10": // a column is missing, or the id is not the key
		return freshet.WithHint(err, "the table has to have these columns: CREATE TABLE "+table+" "+columns)
	case "42501":
		return freshet.WithHint(err, fmt.Sprintf("allow it with: GRANT SELECT, INSERT ON %s TO %s", table, f.settings["user"]))
	case "28P01", "28000":
		return freshet.WithHint(err, "check the settings user and password, and pg_hba.conf of the server")
	case "3D000":
		return freshet.WithHint(err, "create the database, or name another one in the url")
	}
	if strings.HasPrefix(said.Code, "22") { // something is wrong with the data
		return &Refusal{Status: http.StatusUnprocessableEntity, Text: quoted([]byte(said.Message))}
	}
	return err
}
