package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"freshet/internal/test/kit"
	"freshet/internal/test/tier"
)

// A dashboard is what Grafana needs of one.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Panels        []struct {
		ID      int
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
}

// metricsOf returns the metrics of a daemon that has polled a page, failed to poll another, and sent a change.
func metricsOf(t *testing.T) string {
	t.Helper()
	origin, data := kit.NewOrigin(t), t.TempDir()
	origin.PutHTML("/page", "<p>one")
	origin.Answer("/hook", func(http.ResponseWriter, *http.Request) {})
	node := startNode(t, "serve", "--config", "none", "--data", data, "--listen", "127.0.0.1:0", "--allow-cidr", "127.0.0.0/8", "--host-delay", "0s")
	for _, tt := range []struct {
		line string
		well bool
	}{{"sink add hook " + origin.URL + "/hook --kind json", true}, {"add --poll --id page " + origin.URL + "/page", true}, {"add --poll " + origin.URL + "/none", false}, {"sink test hook", true}} {
		if out, well := ran(t, "", append(strings.Fields(tt.line), "--data", data)...); well != tt.well {
			t.Fatalf("freshet %s: %s", tt.line, out)
		}
	}
	origin.PutHTML("/page", "<p>two")
	if out, well := ran(t, "", "poll", "page", "--now", "--data", data); !well {
		t.Fatal(out)
	}
	var text []byte
	kit.Until(t, "the change is delivered", func() bool {
		resp, err := http.Get(node.url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err = io.ReadAll(resp.Body)
		return err == nil && strings.Contains(string(text), `result="delivered"`)
	})
	return string(text)
}

// Every metric and label of the dashboard is one that a daemon at work tells, Prometheus can read every expression,
// and no panel lies on another.
func TestContribDashboard(t *testing.T) {
	tier.Slow(t, "it runs a daemon")
	text, err := os.ReadFile("../../contrib/grafana/freshet.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil || d.UID == "" || d.Title == "" || d.SchemaVersion == 0 || len(d.Panels) < 10 {
		t.Fatalf("%+v, %v", d, err)
	}
	told := metricsOf(t)
	selector, matcher, by := regexp.MustCompile(`(freshet_[a-z_]+)\{([^}]*)\}`), regexp.MustCompile(`([a-z]+="[^"]*")`), regexp.MustCompile(`by \((\w+)\)`)
	var rules strings.Builder
	rules.WriteString("groups:\n- name: panels\n  rules:\n")
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || len(p.Targets) == 0 {
			t.Errorf("the panel %s has the number of another, or shows nothing", p.Title)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if at[0] > 23 || taken[at] != "" {
					t.Fatalf("%s lies on %s, or outside", p.Title, taken[at])
				}
				taken[at] = p.Title
			}
		}
		for _, target := range p.Targets {
			used := selector.FindAllStringSubmatch(target.Expr, -1)
			if len(used) == 0 {
				t.Errorf("%s uses no metric: %s", p.Title, target.Expr)
			}
			for _, m := range used {
				lines := strings.Join(regexp.MustCompile(`(?m)^`+m[1]+`(\{.*)? .*$`).FindAllString(told, -1), "\n")
				labels := matcher.FindAllString(m[2], -1)
				for _, group := range by.FindAllStringSubmatch(target.Expr, -1) {
					labels = append(labels, group[1]+`="`)
				}
				if lines == "" {
					t.Errorf("%s: no metric is called %s", p.Title, m[1])
				}
				for _, label := range labels {
					if !strings.Contains(lines, label) {
						t.Errorf("%s: %s has no label %s:\n%s", p.Title, m[1], label, lines)
					}
				}
			}
			fmt.Fprintf(&rules, "  - record: panel_%d\n    expr: %q\n", p.ID, strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(target.Expr))
		}
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool: apt-get install prometheus")
	}
	for _, file := range []string{file, "../../contrib/prometheus/alerts.yaml"} {
		if out, err := exec.Command(promtool, "check", "rules", "--lint=none", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}
