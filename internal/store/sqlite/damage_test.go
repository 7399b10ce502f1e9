package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/sites/frontier"
	"freshet/internal/store"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/tier"
)

// rich returns a directory with a closed store that has rows in every table:
// three sources with versions, changes and failures, a source that was purged
// from the middle of the logs, logs that were pruned, an outbox and beliefs.
func rich(t *testing.T) string {
	t.Helper()
	dir, ctx := t.TempDir(), t.Context()
	s := open(t, sqlite.Config{Dir: dir})
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	sources := []freshet.SourceID{"a", "b", "gone", "c"}
	for _, id := range sources {
		_, err := s.AddSource(ctx, freshet.Source{ID: id, URL: "https://" + string(id) + ".example/", Name: "Source " + string(id)})
		do(err)
	}
	for n := 1; n <= 30; n++ {
		for _, id := range sources {
			at := noon.Add(time.Duration(n) * time.Minute)
			_, err := s.Begin(ctx, freshet.Poll{Source: freshet.Source{ID: id}, At: at})
			do(err)
			r := freshet.Record{Outcome: freshet.Outcome{Source: id, Began: at, Ended: at.Add(time.Second), Result: freshet.Failed, Failure: "timeout", Err: "it took too long", Requests: 1}}
			if n%4 == 0 {
				r.Outcome.Word = &evidence.IndexHint{Pages: []evidence.PageHint{{Page: crawl.PageKey(n), Date: at}}}
			}
			if n%3 != 0 {
				text := crashText(id, n)
				r.Outcome.Result, r.Outcome.Failure, r.Outcome.Err = freshet.Changed, "", ""
				r.Validators = freshet.Validators{ETag: fmt.Sprint(n)}
				r.Capture = &freshet.Capture{Text: text, Hash: freshet.HashOf(text), Title: "A page", Summary: fmt.Sprintf("change %d", n), Raw: freshet.Raw{
					Status: 200, URL: "https://" + string(id) + ".example/", Body: append([]byte("<p>"), text...),
					Header: map[string][]string{"Content-Type": {"text/html"}, "Etag": {fmt.Sprint(n)}},
				}}
			}
			_, _, err = s.Commit(ctx, r)
			do(err)
		}
	}
	_, err := s.AddSource(ctx, freshet.Source{ID: "site", URL: "https://site.example/", Tags: []string{"t"}, Site: &crawl.Settings{}})
	do(err)
	var pages []frontier.Page
	for n := range 40 {
		pages = append(pages, frontier.Page{URL: fmt.Sprintf("https://site.example/%d", n), Found: crawl.ByLink, Depth: 1, Date: noon, Listed: noon, Gone: noon, Seen: noon})
	}
	_, _, err = frontier.NewStore(s.DB()).AddPages(ctx, "site", pages)
	do(err)
	taken, err := frontier.NewStore(s.DB()).PromotePages(ctx, "site", 5)
	do(err)
	_, err = frontier.NewStore(s.DB()).Announce(ctx, taken[0].ID, crawl.PageWent, noon.Add(time.Hour), "gone")
	do(err)
	do(s.RemoveSource(ctx, "gone", true))
	do(s.RemoveSource(ctx, "c", false))
	_, err = s.Prune(ctx, noon.Add(time.Hour), freshet.Keep{Versions: 40}, 50*time.Minute)
	do(err)
	last, err := s.LastChange(ctx)
	do(err)
	changes, err := s.Changes(ctx, freshet.ChangeQuery{})
	do(err)
	outbox, standing := sinks.NewStore(s.DB()), queries.NewStore(s.DB())
	do(outbox.Advance(ctx, "pager", sinks.Position{Cursor: last - 2}, []sinks.NewDelivery{{Cursor: changes[0].Cursor}, {Cursor: changes[1].Cursor, Body: []byte("{}")}, {Cursor: changes[2].Cursor, InOrder: true}}))
	do(outbox.Advance(ctx, "slow", sinks.Position{Cursor: 2}, nil))
	do(outbox.Postpone(ctx, "pager", sinks.PendingDelivery{Change: changes[1], Attempts: 3, Due: noon, Err: "refused"}))
	do(outbox.Settle(ctx, "pager", sinks.PositionOf(changes[2])))
	do(outbox.Retire(ctx, "slow", sinks.EndpointAt("https://x.example/"), "410"))
	_, err = outbox.PutSink(ctx, "pager", []byte("sealed"), 0)
	do(err)
	do(outbox.SetCondition(ctx, "slow", sinks.Condition{Failing: time.Unix(1, 0), Held: time.Unix(2, 0), Err: "down"}))
	_, err = standing.AddQuery(ctx, queries.Query{Name: "q", Origin: freshet.FromAPI, Created: noon, From: -1})
	do(err)
	do(standing.CommitStep(ctx, queries.Step{
		States:  []queries.State{{Query: "q", Name: "window", Body: []byte("w")}},
		Matches: []queries.Match{{Query: "q", Number: 1, Cause: queries.MatchChange, At: noon, Known: noon, Source: "a", Changes: []freshet.ChangeRef{{Source: "a", Seq: 1, Cursor: 1}}, Group: "g", Value: 1.5}},
		Batches: []queries.Batch{{Query: "q", Name: "q", From: 1, To: 1, Delay: queries.DelayDigest, At: noon}},
	}))
	do(outbox.Advance(ctx, "slow", sinks.Position{Stream: sinks.StreamBatches, Cursor: 1}, []sinks.NewDelivery{{Cursor: 1, Event: "q.1", Source: "a", Body: []byte("{}"), InOrder: true}}))
	users := auth.NewStore(s.DB())
	_, err = users.AddUser(ctx, auth.User{Name: "ada", Role: access.Admin, Password: "hash", Subject: "https://id.example#1", Created: noon, Set: noon})
	do(err)
	do(users.AddCredential(ctx, auth.Credential{
		ID: "p", Kind: auth.TokenKind, Secret: freshet.HashOf([]byte("p")), User: "ada", Name: "ci", From: "192.0.2.1",
		Limit: auth.Limit{Scopes: []access.Right{access.Read}, Tag: "t"}, Created: noon, Expires: noon.Add(time.Hour), Used: noon,
	}))
	do(users.AddCredential(ctx, auth.Credential{ID: "s", Kind: auth.SessionKind, Secret: freshet.HashOf([]byte("s")), Parent: "p", Created: noon}))
	for range 2 {
		do(users.AppendAudit(ctx, auth.AuditEntry{At: noon, Who: "ada", Via: "token ci", From: "192.0.2.1", What: "edit-source", Method: "PATCH", Path: "/api/v1/sources/a", Subject: "source a", Status: 200, Before: "{}", After: "{}"}))
	}
	kept := auth.KeptAnswer{Key: freshet.HashOf([]byte("k")), Request: freshet.HashOf([]byte("r")), At: noon}
	kept.Status, kept.Header, kept.Body = 201, map[string]string{"ETag": `"1"`}, []byte("{}")
	do(users.KeepAnswer(ctx, kept, noon))
	do(s.SaveState(ctx, []freshet.State{{Key: "e", Value: []byte("all")}, {Key: "e", Source: "a", Upto: 7, Value: []byte("one")}}))
	_, err = s.Begin(ctx, freshet.Poll{Source: freshet.Source{ID: "a"}, At: noon.Add(time.Hour)})
	do(err)
	do(s.Check(ctx))
	packed := t.TempDir() // without pages that nothing is in
	do(s.Backup(ctx, filepath.Join(packed, "freshet.db")))
	do(s.Close())
	return packed
}

// copied returns a copy of a closed store.
func copied(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "freshet.db"))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := os.WriteFile(filepath.Join(to, "freshet.db"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// checked returns what Check says of a store, whether or not it can be opened.
func checked(t *testing.T, dir string) error {
	t.Helper()
	r, err := sqlite.Verify(t.Context(), sqlite.Config{Features: features.All(), Dir: dir}, nil)
	if err != nil {
		return err
	}
	return r.Err(dir, "")
}

// Whatever column of whatever row is altered by hand, Check finds it, and so it
// does if the row is gone, or if another is put in its place.
func TestEveryAlteredRowIsFound(t *testing.T) {
	tier.Slow(t, "it checks a store for each column of each table")
	dir := rich(t)
	all := map[string][]string{}
	for _, t := range store.NewSchema(features.All()).Tables() {
		all[t.Name] = slices.DeleteFunc(slices.Clone(t.Columns), func(column string) bool { return strings.HasSuffix(column, "checksum") || column == "depth" })
	}
	var meddlings []string
	for table, columns := range all {
		if n := count(t, dir, "SELECT count(*) FROM "+table); n == 0 {
			t.Errorf("there is no row in %s to alter", table)
		}
		some := fmt.Sprintf("WHERE %s = (SELECT %s FROM %s LIMIT 1)", columns[0], columns[0], table)
		for i, column := range columns {
			set := fmt.Sprintf(`CASE typeof(%[1]s) WHEN 'null' THEN 5 WHEN 'integer' THEN %[1]s + 1000
				WHEN 'text' THEN %[1]s || 'x' ELSE CAST(%[1]s || 'x' AS BLOB) END`, column)
			if i > 0 || table != "standings" {
				meddlings = append(meddlings, fmt.Sprintf("UPDATE %s SET %s = %s %s", table, column, set, some))
			}
		}
		if table != "beliefs" && table != "common_beliefs" { // what is gone of those is learnt anew
			meddlings = append(meddlings, fmt.Sprintf("DELETE FROM %s %s", table, some))
		}
		if table != "bodies" {
			meddlings = append(meddlings, fmt.Sprintf("UPDATE %s SET checksum = NULL %s", table, some), fmt.Sprintf("UPDATE %s SET checksum = checksum + 1 %s", table, some))
		}
	}
	for _, log := range []string{"outcomes", "changes"} {
		columns := strings.Join(append(slices.Clone(all[log][1:]), "checksum"), ", ")
		two := fmt.Sprintf("SELECT cursor FROM %s ORDER BY cursor DESC LIMIT 2", log)
		meddlings = append(meddlings,
			fmt.Sprintf("DELETE FROM %[1]s WHERE cursor = (SELECT max(cursor) FROM %[1]s)", log),
			fmt.Sprintf("DELETE FROM %[1]s WHERE cursor > (SELECT max(cursor) - 3 FROM %[1]s)", log),
			fmt.Sprintf("CREATE TEMP TABLE two AS SELECT * FROM %[1]s WHERE cursor IN (%[2]s); UPDATE %[1]s SET (%[3]s) = (SELECT %[3]s FROM two WHERE two.cursor <> %[1]s.cursor) WHERE cursor IN (%[2]s)", log, two, columns))
	}
	slices.Sort(meddlings)
	for _, meddling := range meddlings {
		damaged := copied(t, dir)
		meddle(t, damaged, "PRAGMA foreign_keys = 0; PRAGMA ignore_check_constraints = 1; "+meddling)
		if err := checked(t, damaged); !errors.Is(err, freshet.ErrDamaged) {
			t.Errorf("%s: Check gives %v, want %v", meddling, err, freshet.ErrDamaged)
		}
	}
	t.Logf("%d meddlings", len(meddlings))
}

// contents returns all rows that count of a store, as SQLite reads them.
func contents(t *testing.T, dir string) (string, error) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "freshet.db")+"?mode=ro")
	if err != nil {
		return "", err
	}
	defer db.Close()
	var all strings.Builder
	for _, table := range []string{"sources", "standings", "attempts", "outcomes", "marks", "bodies", "envelopes", "versions", "changes",
		"places", "debts", "retired", "beliefs", "common_beliefs", "cuts", "seals", "epochs", "tombstones", "counters", "labels", "evidence"} {
		rows, err := db.Query("SELECT * FROM " + table + " ORDER BY 1, 2")
		if err != nil {
			return "", err
		}
		columns, _ := rows.Columns()
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		for rows.Next() {
			if err := rows.Scan(values...); err != nil {
				return "", err
			}
			for _, v := range values {
				fmt.Fprintf(&all, "%v|", *v.(*any))
			}
			all.WriteString("\n")
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return "", err
		}
	}
	return all.String(), nil
}

// Bits of the file are flipped at many places. A store that is said to be fine
// holds what was written, and what is served of a damaged one is what was
// written, too.
func TestFlippedBitsAreFound(t *testing.T) {
	dir := rich(t)
	want, err := contents(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "freshet.db"))
	if err != nil {
		t.Fatal(err)
	}
	places := tier.Seeds(20, 40, 120)
	if raced {
		places = 20
	}
	var used []int // not the room that is left in pages
	for at, b := range file {
		if b != 0 {
			used = append(used, at)
		}
	}
	draw, found, fine, served := rand.New(rand.NewPCG(7, 10)), 0, 0, 0
	for range places {
		damaged := t.TempDir()
		data := bytes.Clone(file)
		at := used[draw.IntN(len(used))]
		data[at] ^= 1 << draw.IntN(8)
		if err := os.WriteFile(filepath.Join(damaged, "freshet.db"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checked(t, damaged); err != nil {
			found++
		} else if got, err := contents(t, damaged); err != nil || got != want {
			t.Errorf("a bit at %d was flipped, what is stored is not what was written, and Check says that it is: %v", at, err)
		} else {
			fine++
		}
		served += serves(t, damaged)
	}
	t.Logf("%d of %d were found, in %d nothing that counts was altered, %d texts were served", found, places, fine, served)
}

// serves counts the texts that a damaged store still serves. Each must be what
// was written.
func serves(t *testing.T, dir string) (n int) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir, ReadOnly: true})
	if err != nil {
		return 0
	}
	defer s.Close()
	for _, id := range []freshet.SourceID{"a", "b"} {
		versions, err := s.Versions(t.Context(), id, freshet.Between{}, 0, 0)
		if err != nil {
			continue
		}
		for _, v := range versions {
			text, err := s.Text(t.Context(), id, v.Number)
			if err != nil {
				continue
			}
			n++
			if poll := v.Number + (v.Number-1)/2; !bytes.Equal(text, crashText(id, poll)) {
				t.Errorf("version %d of source %s is served with another text", v.Number, id)
			}
		}
	}
	return n
}

// An entry of another history with the same number, whole with its own checksum,
// is found: the entry after it covers the one that was there.
func TestEntriesOfAnotherHistoryAreFound(t *testing.T) {
	dir := rich(t)
	histories := map[string]string{}
	for _, says := range []string{"one", "two"} {
		histories[says] = copied(t, dir)
		s := open(t, sqlite.Config{Dir: histories[says]})
		for n := range 3 {
			at := noon.Add(time.Duration(90+n) * time.Minute)
			_, _, err := s.Commit(t.Context(), freshet.Record{Outcome: freshet.Outcome{Source: "a", Began: at, Ended: at, Result: freshet.Failed, Failure: "timeout", Err: says}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	last := count(t, histories["one"], "SELECT max(cursor) FROM outcomes")
	for cursor := last - 2; cursor <= last; cursor++ {
		mixed := copied(t, histories["one"])
		meddle(t, mixed, fmt.Sprintf("ATTACH '%s' AS other; INSERT OR REPLACE INTO main.outcomes SELECT * FROM other.outcomes WHERE cursor = %d",
			filepath.Join(histories["two"], "freshet.db"), cursor))
		if err := checked(t, mixed); !errors.Is(err, freshet.ErrDamaged) {
			t.Errorf("outcome %d of another history is in the log, and Check gives %v", cursor, err)
		}
	}
}
