package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"freshet/internal/app/config"
)

// A removed setting is refused with a hint, in the file and in the environment.
func TestRemovedSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "freshet.yaml")
	if err := os.WriteFile(file, []byte("pool: postgres://db/pool\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"FRESHET_SHARD": "1/3"}
	_, err := config.Load(config.Input{File: file, Env: func(k string) string { return env[k] }, Flag: func(string) (string, bool) { return "", false }})
	if err == nil {
		t.Fatal("removed settings are accepted")
	}
	for _, want := range []string{"the setting pool was removed", "FRESHET_SHARD: the setting shard was removed"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %q, want %q in it", err, want)
		}
	}
}
