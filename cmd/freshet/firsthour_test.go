package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"freshet/internal/test/tier"
)

// TestFirstHour plays the path of a new user, from the first command to the first
// notification, with the settings that ship: testdata/firsthour.
func TestFirstHour(t *testing.T) {
	tier.Slow(t, "it starts a daemon")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/firsthour",
		Setup: func(e *testscript.Env) error {
			e.Setenv("FRESHET_DATA", filepath.Join(e.WorkDir, "data"))
			e.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "await": await, "origin": origin, "receiver": receiver, "ready": ready,
		},
	})
}
