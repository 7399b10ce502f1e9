//go:build unix

package torture_test

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"freshet/internal/app"
	"freshet/internal/extract"
	"freshet/internal/test/tier"
	"freshet/internal/test/torture"
)

// TestMain lets the test's own program be the daemon inside, and the child that
// applies its selectors.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "inside" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop)
		os.Exit(torture.Inside(ctx, os.Args[2:], []string{os.Args[0], "extract"}))
	}
	if len(os.Args) > 1 && os.Args[1] == "extract" {
		if extract.Serve(os.Stdin, os.Stdout, app.ExtractMemory) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestSmoke breaks a daemon a few times in every way. The campaign proper is
// "make torture".
func TestSmoke(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it breaks daemons")
	freshet := filepath.Join(t.TempDir(), "freshet")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", freshet, "freshet/cmd/freshet").CombinedOutput(); err != nil {
		t.Fatalf("build the program to break: %v\n%s", err, out)
	}
	tests := []struct {
		name  string
		seed  uint64
		kinds []torture.Kind
	}{
		{"its process", 14, []torture.Kind{torture.Kill, torture.Early, torture.Freeze, torture.Term, torture.Twin, torture.Reload, torture.Hooks, torture.Files}},
		{"its disk", 2, []torture.Kind{torture.Full, torture.Slow, torture.Write, torture.Sync, torture.Power, torture.Restore, torture.Restore}},
		{"its clock", 8, []torture.Kind{torture.Clock, torture.Restart}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report, err := torture.Run(t.Context(), torture.Config{
				Seed: tt.seed, Episodes: 1, Rounds: len(tt.kinds), Only: tt.kinds,
				Dir: t.TempDir(), Freshet: []string{freshet}, Inside: []string{os.Args[0], "inside"},
			})
			if err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			report.Print(&said)
			if len(report.Violations) > 0 {
				t.Error(said.String())
			}
			if len(report.Faults) == 0 || report.Versions == 0 || report.Checks["budget"] == 0 {
				t.Errorf("nothing was shown:\n%s", said.String())
			}
			t.Log(said.String())
		})
	}
}
