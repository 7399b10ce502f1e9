package adversary_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"freshet/internal/research/adversary"
)

var update = flag.Bool("update", false, "judge the webs in testdata/worst.json again")

// worstFile has the worst webs that long searches have found, as they were judged then.
const worstFile = "testdata/worst.json"

// slack is how far the policy may fall below what is recorded of a web before this fails:
// about as much as it gains or loses by the order of equals.
const slack = 0.05

// On the worst webs known, a policy captures no less relative to policies that learn nothing
// than is recorded, and docs/explanation/learning.md says what is recorded.
func TestWorstKnownWebs(t *testing.T) {
	data, err := os.ReadFile(worstFile)
	if err != nil {
		t.Fatal(err)
	}
	var known []adversary.Verdict
	if err := json.Unmarshal(data, &known); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/explanation/learning.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, was := range known {
		row := fmt.Sprintf("| `%s` | %.3f | %.3f | %.3f | %.3f |", was.Policy, was.Share, was.Rivals["uniform"], was.Rivals["round-robin"], was.Worst)
		if !*update && !strings.Contains(string(page), row) {
			t.Errorf("docs/explanation/learning.md does not say what %s has of web %d: %s", worstFile, i, row)
		}
		is, err := adversary.Judge(t.Context(), was.Policy, was.Web)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("web %d: %s %.4f, others %v, ratio %.4f; recorded %.4f", i, is.Policy, is.Share, is.Rivals, is.Worst, was.Worst)
		if is.Worst < was.Worst-slack {
			t.Errorf("on web %d the ratio is %.4f, and %.4f is recorded: %+v", i, is.Worst, was.Worst, is)
		}
		if is.Changes != was.Changes {
			t.Errorf("web %d has %d changes, and %d are recorded", i, is.Changes, was.Changes)
		}
		known[i] = is
	}
	if *update {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(known); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(worstFile, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A short search finds nothing worse than what is recorded, and the same every time.
func TestSearch(t *testing.T) {
	judged := 0
	v, err := adversary.Search(t.Context(), "auto", 1, 12, func(n int, _ float64) { judged = n })
	if err != nil {
		t.Fatal(err)
	}
	again, err := adversary.Search(t.Context(), "auto", 1, 12, nil)
	if err != nil {
		t.Fatal(err)
	}
	if judged != 12 || v.Worst != again.Worst || math.IsInf(v.Worst, 0) {
		t.Errorf("after %d webs the worst ratio is %v, and then %v", judged, v.Worst, again.Worst)
	}
	data, err := os.ReadFile(worstFile)
	if err != nil {
		t.Fatal(err)
	}
	var known []adversary.Verdict
	if err := json.Unmarshal(data, &known); err != nil {
		t.Fatal(err)
	}
	if v.Worst < known[0].Worst-slack {
		t.Errorf("a short search finds a ratio of %.4f, and the worst recorded is %.4f: %+v", v.Worst, known[0].Worst, v.Web)
	}
}

// A web that cannot be drawn is refused by the field.
func TestWebsAreChecked(t *testing.T) {
	good := adversary.Group{Pages: 1, Kind: adversary.Random, Rate: 0.1, Turn: 5}
	for field, spoil := range map[string]func(*adversary.Web){
		"instants":        func(w *adversary.Web) { w.Instants = 0 },
		"budget":          func(w *adversary.Web) { w.Budget = math.NaN() },
		"groups":          func(w *adversary.Web) { w.Groups = nil },
		"groups[0].pages": func(w *adversary.Web) { w.Groups[0].Pages = 0 },
		"groups[0].kind":  func(w *adversary.Web) { w.Groups[0].Kind = "tides" },
		"groups[0].rate":  func(w *adversary.Web) { w.Groups[0].Rate = -1 },
		"groups[0].turn":  func(w *adversary.Web) { w.Groups[0].Turn = 0 },
		"groups[0].phase": func(w *adversary.Web) { w.Groups[0].Phase = 2 },
	} {
		w := adversary.Web{Groups: []adversary.Group{good}, Instants: 50, Budget: 1}
		spoil(&w)
		if _, err := adversary.Judge(t.Context(), "auto", w); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("a web with wrong %s gives %v", field, err)
		}
	}
}
