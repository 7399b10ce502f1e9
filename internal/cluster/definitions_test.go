package cluster_test

import (
	"strings"
	"testing"
	"time"

	"freshet/internal/cluster"
	"freshet/internal/freshet"
	"freshet/internal/test/kit"
	"freshet/internal/test/netfault"
)

// A worker uses the latest definition of a source, also after it was disconnected.
func TestLatestDefinitionApplies(t *testing.T) {
	g := newRig(t, func(c *cluster.Config) { c.Lease, c.Total = 3*time.Second, 3*time.Second }) // of one that is lost
	g.web.PutHTML("/", "<p id=a>first<p id=b>second")
	w, err := netfault.New(strings.TrimPrefix(g.leader.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	g.join("far", func(c *cluster.WorkerConfig) { c.Join = []string{"http://" + w.Address()} })
	look := func(css string) (text string) {
		o := g.task("/")
		o.Source.Recipe.CSS = css
		if f := g.pool.Look(t.Context(), o); f.Result == freshet.First {
			text = strings.TrimSpace(string(f.Capture.Text))
		}
		return text
	}
	wants := map[string]string{"#a": "first", "#b": "second", "p": "first\nsecond", "#c": ""}
	for _, cut := range []bool{false, true} {
		if cut {
			w.Cut()
			kit.Until(g, "the worker works again", func() bool { return look("#a") == wants["#a"] })
		}
		for range 3 {
			for _, css := range []string{"#a", "#b", "p", "#b", "#c"} {
				if got := look(css); got != wants[css] {
					t.Errorf("%s is read as %q, want %q", css, got, wants[css])
				}
			}
		}
	}
}
