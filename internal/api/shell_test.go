package api_test

import (
	"strings"
	"testing"

	"freshet/internal/auth"
)

// The shell of the page tells people who they are and nobody else, and asks early only for what
// they may read.
func TestShellKnowsItsReader(t *testing.T) {
	g := newGateRig(t)
	_, link := g.pass(auth.Credential{Kind: auth.ShareKind, User: "ed", Limit: auth.Limit{Source: "a"}})
	for _, tt := range []struct {
		name    string
		headers []string
		says    string // of who they are
		early   bool
	}{
		{"a stranger", nil, "", false},
		{"somebody with a made-up session", []string{"Cookie", "freshet=fs_none"}, "", false},
		{"a viewer", g.session("vi"), `"user":"vi"`, true},
		{"an admin", g.session("ada"), `"user":"ada"`, true},
		{"a link to a source", link, `"source":"a"`, false},
	} {
		shell := string(g.do("GET", "/sources", nil, tt.headers...).is(200).Body)
		if told := strings.Contains(shell, `id="session"`); told != (tt.says != "") || !strings.Contains(shell, tt.says) {
			t.Errorf("%s: the shell says\n%s\nwant %q", tt.name, shell, tt.says)
		}
		if early := strings.Contains(shell, `rel="preload"`); early != tt.early {
			t.Errorf("%s: the shell asks for something early: %t, want %t", tt.name, early, tt.early)
		}
	}
}
