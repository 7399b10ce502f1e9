package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// user adds a user.
func (b *bench) user(name string, role access.Role) auth.User {
	b.Helper()
	u, err := b.AddUser(b.Context(), auth.User{Name: name, Role: role, Password: "hash of " + name, Created: noon, Set: noon})
	b.ok("add user "+name, err)
	return u
}

// names lists the users with their roles.
func (b *bench) names() string {
	b.Helper()
	users, err := b.Users(b.Context())
	b.ok("users", err)
	var list []string
	for _, u := range users {
		list = append(list, u.Name+" "+string(u.Role))
	}
	return strings.Join(list, ", ")
}

// pass adds a pass of a user.
func (b *bench) pass(id string, kind auth.CredentialKind, user, parent string) auth.Credential {
	b.Helper()
	p := auth.Credential{ID: id, Kind: kind, Secret: freshet.HashOf([]byte(id)), User: user, Name: "for " + id, Parent: parent, From: "192.0.2.7",
		Limit:   auth.Limit{Scopes: []access.Right{access.Read, access.Write}, Tag: "shop"},
		Created: noon, Expires: noon.Add(time.Hour)}
	b.ok("add pass "+id, b.AddCredential(b.Context(), p))
	return p
}

// passes lists the ids of the passes of all kinds.
func (b *bench) passes() string {
	b.Helper()
	var list []string
	for _, kind := range []auth.CredentialKind{auth.SessionKind, auth.TokenKind, auth.ShareKind} {
		found, err := b.Credentials(b.Context(), kind)
		b.ok("passes", err)
		for _, p := range found {
			list = append(list, p.ID)
		}
	}
	return strings.Join(list, " ")
}

// deeds lists the numbers in the audit log.
func (b *bench) deeds(q auth.AuditQuery) string {
	b.Helper()
	found, err := b.AuditLog(b.Context(), q)
	b.ok("deeds", err)
	var list []string
	for _, d := range found {
		list = append(list, fmt.Sprintf("%d %s", d.Cursor, d))
	}
	return strings.Join(list, ", ")
}

func (b *bench) refuses(what string, err error) {
	b.Helper()
	if _, ok := errors.AsType[*invalid.Error](err); !ok {
		b.Errorf("%s gives %v, want it refused", what, err)
	}
}

var userTests = []test{
	{"a user is as it was added, after an edit, and gone after a removal", func(b *bench) {
		ada := b.user("ada", access.Admin)
		ada.Role, ada.Password, ada.Subject, ada.Set, ada.Created = access.Admin, "other", "https://id.example#7", noon.Add(time.Hour), noon.Add(time.Hour)
		stored, err := b.UpdateUser(b.Context(), ada)
		b.ok("edit", err)
		b.reopen()
		got, err := b.User(b.Context(), "ada")
		b.ok("read", err)
		if diff := cmp.Diff(stored, got); diff != "" || got.Revision != 2 || !got.Created.Equal(noon) || got.Password != "other" {
			b.Errorf("it is read as %+v (-edited +read):\n%s", got, diff)
		}
		if at, err := b.UserBySubject(b.Context(), "https://id.example#7"); err != nil || at.Name != "ada" {
			b.Errorf("by its subject it is %+v, %v", at, err)
		}
		b.ok("remove", b.RemoveUser(b.Context(), "ada"))
		_, err = b.User(b.Context(), "ada")
		b.is("a removed user", err, freshet.ErrNotFound)
		b.is("removing it again", b.RemoveUser(b.Context(), "ada"), freshet.ErrNotFound)
		_, err = b.UserBySubject(b.Context(), "https://id.example#7")
		b.is("its subject", err, freshet.ErrNotFound)
		_, err = b.UpdateUser(b.Context(), ada)
		b.is("editing it", err, freshet.ErrNotFound)
	}},
	{"no two users have a name or a subject, and an edit of an old one is refused", func(b *bench) {
		ada := b.user("ada", access.Admin)
		_, err := b.AddUser(b.Context(), auth.User{Name: "ada", Role: access.Viewer})
		b.is("the name again", err, freshet.ErrConflict)
		ada.Subject = "s"
		_, err = b.UpdateUser(b.Context(), ada)
		b.ok("edit", err)
		_, err = b.AddUser(b.Context(), auth.User{Name: "bob", Role: access.Viewer, Subject: "s"})
		b.is("the subject again", err, freshet.ErrConflict)
		_, err = b.UpdateUser(b.Context(), ada)
		b.is("an old revision", err, freshet.ErrStale)
		if got := b.names(); got != "ada admin" {
			b.Errorf("there are %s", got)
		}
	}},
	{"users are never without an admin", func(b *bench) {
		_, err := b.AddUser(b.Context(), auth.User{Name: "bob", Role: access.Editor})
		b.refuses("an editor as the first", err)
		ada := b.user("ada", access.Admin)
		b.user("bob", access.Editor)
		ada.Role = access.Viewer
		_, err = b.UpdateUser(b.Context(), ada)
		b.refuses("the last admin as a viewer", err)
		b.refuses("removing the last admin", b.RemoveUser(b.Context(), "ada"))
		if got := b.names(); got != "ada admin, bob editor" {
			b.Errorf("there are %s", got)
		}
		b.ok("remove the editor", b.RemoveUser(b.Context(), "bob"))
		b.ok("remove the only user", b.RemoveUser(b.Context(), "ada"))
	}},
	{"a pass is found by its secret until it is removed, and goes with its user and its parent", func(b *bench) {
		b.user("ada", access.Admin)
		b.user("bob", access.Viewer)
		want := b.pass("token", auth.TokenKind, "ada", "")
		b.pass("session", auth.SessionKind, "ada", "")
		b.pass("other", auth.SessionKind, "ada", "")
		b.pass("bobs", auth.TokenKind, "bob", "")
		b.pass("share", auth.ShareKind, "bob", "")
		b.pass("seen", auth.SessionKind, "", "share")
		b.is("a pass of nobody", b.AddCredential(b.Context(), auth.Credential{ID: "x", User: "eve"}), freshet.ErrNotFound)
		b.is("a pass of a lost parent", b.AddCredential(b.Context(), auth.Credential{ID: "x", Parent: "lost"}), freshet.ErrNotFound)
		b.ok("use", b.MarkUsed(b.Context(), "token", noon.Add(time.Minute)))
		b.ok("use what is gone", b.MarkUsed(b.Context(), "lost", noon))
		want.Used = noon.Add(time.Minute)
		b.reopen()
		got, err := b.CredentialBySecret(b.Context(), freshet.HashOf([]byte("token")))
		b.ok("by the secret", err)
		if diff := cmp.Diff(want, got); diff != "" {
			b.Errorf("the pass (-added +read):\n%s", diff)
		}
		_, err = b.CredentialBySecret(b.Context(), freshet.HashOf([]byte("no")))
		b.is("another secret", err, freshet.ErrNotFound)
		gone, err := b.RemoveCredentials(b.Context(), auth.CredentialFilter{User: "ada", Kind: auth.SessionKind, But: "session"})
		b.ok("remove the other sessions", err)
		if got := strings.Join(gone, " "); got != "other" || b.passes() != "seen session bobs token share" {
			b.Errorf("removed %s, left %s", got, b.passes())
		}
		if _, err := b.RemoveCredentials(b.Context(), auth.CredentialFilter{But: "token"}); err == nil {
			b.Error("without saying which, passes are removed")
		}
		b.ok("remove bob", b.RemoveUser(b.Context(), "bob"))
		if got := b.passes(); got != "session token" {
			b.Errorf("left are %s", got)
		}
	}},
	{"passes that have expired or lie idle are swept away", func(b *bench) {
		b.user("ada", access.Admin)
		for _, id := range []string{"used", "idle"} {
			b.pass(id, auth.SessionKind, "ada", "")
		}
		b.pass("token", auth.TokenKind, "ada", "")
		b.ok("use", b.MarkUsed(b.Context(), "used", noon.Add(30*time.Minute)))
		b.ok("use", b.MarkUsed(b.Context(), "idle", noon))
		b.ok("use", b.MarkUsed(b.Context(), "token", noon))
		b.ok("sweep", b.Sweep(b.Context(), noon.Add(time.Hour-1), noon.Add(time.Minute), noon))
		if got := b.passes(); got != "used token" {
			b.Errorf("left are %s", got)
		}
		b.ok("sweep", b.Sweep(b.Context(), noon.Add(time.Hour), noon, noon))
		if got := b.passes(); got != "" {
			b.Errorf("left are %s", got)
		}
	}},
	{"the audit log is read from its end, and its old entries are swept away without a number given twice", func(b *bench) {
		want := auth.AuditEntry{Cursor: 1, At: noon, Who: "ada", Via: "session", From: "192.0.2.7", What: "edit-source", Method: "PATCH",
			Path: "/api/v1/sources/a", Subject: "source a", Status: 200, Before: `{"paused":false}`, After: `{"paused":true}`}
		b.ok("tell", b.AppendAudit(b.Context(), want))
		for n := 2; n <= 5; n++ {
			b.ok("tell", b.AppendAudit(b.Context(), auth.AuditEntry{At: noon.Add(time.Duration(n) * time.Minute), Via: "open", What: "poll-source", Subject: "source b"}))
		}
		b.reopen()
		found, err := b.AuditLog(b.Context(), auth.AuditQuery{Who: "ada"})
		b.ok("deeds", err)
		if diff := cmp.Diff([]auth.AuditEntry{want}, found); diff != "" {
			b.Errorf("the log (-told +read):\n%s", diff)
		}
		if got := b.deeds(auth.AuditQuery{Before: 4, Limit: 2}); got != "3 open: poll-source source b, 2 open: poll-source source b" {
			b.Errorf("a page is %s", got)
		}
		if got := b.deeds(auth.AuditQuery{Subject: "source a"}); got != "1 ada: edit-source source a" {
			b.Errorf("of the source: %s", got)
		}
		b.ok("sweep", b.Sweep(b.Context(), noon, noon, noon.Add(4*time.Minute)))
		if got := b.deeds(auth.AuditQuery{}); got != "5 open: poll-source source b, 4 open: poll-source source b" {
			b.Errorf("left are %s", got)
		}
		b.ok("sweep", b.Sweep(b.Context(), noon, noon, noon.Add(time.Hour)))
		b.reopen()
		b.ok("tell", b.AppendAudit(b.Context(), auth.AuditEntry{At: noon, Via: "open", What: "x"}))
		if got := b.deeds(auth.AuditQuery{}); got != "6 open: x , 5 open: poll-source source b" {
			b.Errorf("left are %s", got)
		}
	}},
}
