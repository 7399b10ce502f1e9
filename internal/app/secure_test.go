package app_test

import (
	"strings"
	"testing"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/freshet"
)

// A node that others would reach over http does not start, unless somebody wants that.
func TestPlainNodesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		set     func(*config.Settings)
		refused bool
	}{
		"a node on PostgreSQL":          {func(s *config.Settings) {}, true},
		"a node that others reach so":   {func(s *config.Settings) { s.API.Listen, s.Cluster.Advertise = "127.0.0.1:0", "http://10.0.0.1:8080" }, true},
		"a daemon with workers":         {func(s *config.Settings) { s.Store, s.Cluster.TokenFile = "", workerToken(t) }, true},
		"a node behind a proxy":         {func(s *config.Settings) { s.Cluster.Advertise = "https://proxy.example" }, false},
		"a node on this machine":        {func(s *config.Settings) { s.API.Listen = "127.0.0.1:0" }, false},
		"a node that may":               {func(s *config.Settings) { s.Cluster.Insecure = true }, false},
		"a daemon that works by itself": {func(s *config.Settings) { s.Store = "" }, false},
	} {
		s := settings(t)
		s.Store, s.API.Listen = "postgres://nobody@127.0.0.1:1/none", "0.0.0.0:0"
		c.set(&s)
		err := app.Serve(t.Context(), s, app.ServeConfig{Load: func() (config.Settings, error) { return s, nil }})
		if err == nil {
			t.Fatalf("%s serves without a database or users", name)
		}
		refused := strings.Contains(err.Error(), "unencrypted") && strings.Contains(freshet.HintOf(err), "--insecure-cluster")
		if refused != c.refused {
			t.Errorf("%s: %v (%s)", name, err, freshet.HintOf(err))
		}
	}
}
