package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"freshet/internal/app/demo"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/test/tier"
)

// runDemo runs a short demo as a user would and returns what it printed and
// where it could leave something behind.
func runDemo(t *testing.T, args ...string) (out []byte, dir string) {
	t.Helper()
	tier.Slow(t, "it runs the demo")
	dir = t.TempDir()
	cmd := exec.Command("freshet", append([]string{"demo"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the demo failed: %v\n%s", err, said.String())
	}
	return out, dir
}

// TestDemoCounts holds the figures of a demo against each other: every change
// is in one of three states, and what is spent is within the budget.
func TestDemoCounts(t *testing.T) {
	t.Parallel()
	const budget = 300
	out, dir := runDemo(t, "--json", "--for", "4s", "--budget", fmt.Sprintf("%d/m", budget), "--seed", "7")
	var last demo.Scene
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	for _, line := range lines {
		if last.Final {
			t.Errorf("a line follows the final one: %s", line)
		}
		last = demo.Scene{}
		if err := json.Unmarshal(line, &last); err != nil {
			t.Fatalf("a line is no JSON: %v\n%s", err, line)
		}
		for name, s := range map[string]demo.Score{"policy": last.Score, "rival": last.Rival} {
			if s.Captured+s.Missed+s.Pending != s.Changes {
				t.Errorf("%s: %d captured, %d missed and %d pending are not %d changes", name, s.Captured, s.Missed, s.Pending, s.Changes)
			}
		}
		if last.Score.Changes != last.Rival.Changes {
			t.Errorf("the policy is judged by %d changes and the rival by %d", last.Score.Changes, last.Rival.Changes)
		}
	}
	if !last.Final || len(lines) < 2 { // a machine that is slow comes to fewer than one a second
		t.Errorf("%d lines, the last of them final: %v; want one a second and a final one", len(lines), last.Final)
	}
	if last.Polls == 0 || last.Manners.Busiest > budget || last.Manners.Unwelcome > 0 {
		t.Errorf("%d polls, %d requests in a minute, %d unwelcome; want some polls, at most %d, and none", last.Polls, last.Manners.Busiest, last.Manners.Unwelcome, budget)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("the demo left %v behind (%v), want nothing", left, err)
	}
}

func TestDemoPlainEndsWithASummary(t *testing.T) {
	t.Parallel()
	chart := filepath.Join(t.TempDir(), "course.svg")
	out, _ := runDemo(t, "--for", "1s", "--policy", "round-robin", "--plot", chart)
	if svg, err := os.ReadFile(chart); err != nil || !bytes.Contains(svg, []byte("uniform rival")) {
		t.Errorf("the picture shows no rival (%v):\n%s", err, svg)
	}
	for _, want := range []string{"40 pages on 8 hosts", "pending", "(rival that polls all pages equally)", "as the servers counted"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the demo does not say %q:\n%s", want, out)
		}
	}
	if bytes.Contains(out, []byte("\x1b")) {
		t.Errorf("the demo steers a terminal that is not there:\n%q", out)
	}
}

func TestDemoPictureFitsTheTerminal(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	shown := &demo.Stage{Web: synth.Demo(1, start), Policy: "uniform", Budget: sched.Budget{Polls: 30, Per: time.Minute}, Delay: time.Second}
	scene := demo.Scene{
		Clock: 61, Polls: 30, FirstChange: 1.5,
		Score:   demo.Score{Changes: 90, Captured: 30, Missed: 40, Pending: 20, Recall: 3.0 / 7, MeanDelay: 12.3},
		Rival:   demo.Score{Changes: 90, Captured: 60, Missed: 0, Pending: 30, Recall: 1, MeanDelay: 1},
		Manners: demo.Manners{Busiest: 30, Closest: 2},
	}
	for i := range 40 { // both sides over more than three minutes
		earlier := scene
		earlier.Clock = 5 * float64(i)
		earlier.Score.Captured, earlier.Score.Missed = i*i/40, i*(40-i)/40
		earlier.Rival.Captured, earlier.Rival.Missed = i, i
		shown.Course.Add(earlier)
	}
	for range 50 {
		scene.Recent = append(scene.Recent, demo.Change{At: start, Source: "news-front", Late: 3, Summary: strings.Repeat("ä long summary ", 20)})
	}
	for width := 1; width <= 200; width++ {
		for _, height := range []int{1, 10, 24, 100} {
			lines := demoPicture(shown, scene, width, height, false)
			if len(lines) > height {
				t.Fatalf("%d lines on a terminal of %d", len(lines), height)
			}
			for _, line := range lines {
				if n := utf8.RuneCountInString(line); n > width {
					t.Fatalf("a line of %d columns on a terminal of %d: %q", n, width, line)
				}
			}
		}
	}
	whole := strings.Join(demoPicture(shown, scene, 100, 40, false), "\n")
	for _, want := range []string{"30 captured", "40 missed", "20 pending", "43%", "100%", "1:01", "the two should be close", "last minute", "▅▅▅▅"} {
		if !strings.Contains(whole, want) {
			t.Errorf("the picture does not say %q:\n%s", want, whole)
		}
	}
}

func TestDemoCourseIsToldByTheMinute(t *testing.T) {
	var c demo.Course
	for i := range 37 { // one change every five seconds; the policy captures all from the second minute on
		captured := max(0, i-12)
		c.Add(demo.Scene{Clock: 5 * float64(i), Score: demo.Score{Captured: captured, Missed: i - captured}, Rival: demo.Score{Captured: 0, Missed: i}})
	}
	want := "captured, minute by minute:\n" +
		"  minute       1:00  2:00  3:00\n" +
		"  auto           0%  100%  100%\n" +
		"  rival          0%    0%    0%\n"
	if got := minutesInWords(c.Minutes(), "auto"); got != want {
		t.Errorf("the course is told as\n%s\nwant\n%s", got, want)
	}
}
