package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestFirstHour plays the path of a new user, from building the program to the first
// notification, with the settings that ship: testdata/firsthour.
func TestFirstHour(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	bin := filepath.Join(t.TempDir(), "bin")
	if out, err := exec.Command("go", "build", "-o", bin+string(filepath.Separator), ".").CombinedOutput(); err != nil {
		t.Fatalf("the program cannot be built: %v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/firsthour",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Setenv("FRESHET_DATA", filepath.Join(e.WorkDir, "data"))
			e.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "await": await, "origin": origin, "receiver": receiver, "ready": ready,
		},
	})
}
