package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"freshet/internal/app/config"
)

// Whatever is wrong with a file, what is said of it shows no secret.
func TestProblemsShowNoSecret(t *testing.T) {
	const key = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"
	for _, file := range []string{
		"webhooks:\n  - name: a\n    url: https://a.example/\n    secret: [whsec_" + key + "]\n",
		"webhooks:\n  - {name: a, url: 'https://a.example/', secret: whsec_" + key + ", wrong: 1}\n",
		"webhooks:\n  - name: a\n    secret: \"" + key + "\"\n    url: https://a.example/\n",
		"webhooks:\n  - name: a\n    secret whsec_" + key + "\n    url: https://a.example/\n",
		"webhooks:\n  - name: a\n    secret: |\n      " + key + "\n   url: x\n",
		"webhooks:\n  - name: a\n    url: https://user:" + key + "@a.example/\n    secret: x\n",
		"sources:\n  - url: https://a.example/?key=" + key + "\n    max_gap: 1ns\n",
		"sources:\n  - url: https://a.example/?key=" + key + "&%zz=\x01\n",
		"sources:\n  - {url: 'https://a.example/?token=" + key + "', nonsense: 1}\n",
	} {
		path := filepath.Join(t.TempDir(), "freshet.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(config.Input{File: path, Env: func(string) string { return "" }, Flag: func(string) (string, bool) { return "", false }})
		if err == nil {
			t.Errorf("nothing is wrong with\n%s", file)
			continue
		}
		said := err.Error()
		if e, ok := err.(*config.Error); ok {
			said += e.Details()
		}
		if strings.Contains(said, key) {
			t.Errorf("of\n%s\nit is said\n%s", file, said)
		}
	}
}
