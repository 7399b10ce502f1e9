package extract_test

import (
	"slices"
	"strings"
	"testing"

	"znkr.io/diff"

	"pgregory.net/rapid"

	"freshet/internal/extract"
)

// What two texts begin and end with is passed over, and the delta is what comparing all
// of it gives.
func TestDiffPassesOverWhatIsTheSame(t *testing.T) {
	some := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "ab\n", "\n", "long enough to be more than a word\n"}), 0, 12),
		func(list []string) string { return strings.Join(list, "") })
	rapid.Check(t, func(t *rapid.T) {
		head, tail := some.Draw(t, "head"), some.Draw(t, "tail")
		old, new := head+some.Draw(t, "old")+tail, head+some.Draw(t, "new")+tail
		if rapid.Bool().Draw(t, "unended") {
			old, new = old+"a", new+rapid.SampledFrom([]string{"a", "ab", ""}).Draw(t, "end")
		}
		got := extract.Diff([]byte(old), []byte(new))
		want := diff.Hunks(slices.Collect(strings.Lines(old)), slices.Collect(strings.Lines(new)), diff.Context(3))
		if len(got.Hunks) != len(want) {
			t.Fatalf("%d hunks, want %d", len(got.Hunks), len(want))
		}
		kept := len(old)
		for i, h := range want {
			g := got.Hunks[i]
			if g.OldStart != h.PosX+1 || g.OldLines != h.EndX-h.PosX || g.NewStart != h.PosY+1 || g.NewLines != h.EndY-h.PosY || len(g.Lines) != len(h.Edits) {
				t.Fatalf("hunk %d is %+v, want %+v", i, g, h)
			}
			for k, e := range h.Edits {
				op := map[diff.Op]extract.Op{diff.Match: extract.Keep, diff.Delete: extract.Remove, diff.Insert: extract.Add}[e.Op]
				if l := g.Lines[k]; l.Op != op || l.Old != e.PosX+1 || l.New != e.PosY+1 {
					t.Fatalf("line %d of hunk %d is %+v, want %+v", k, i, l, e)
				}
				if op == extract.Remove {
					kept -= len(e.X)
				}
			}
		}
		if n := got.KeptBytes([]byte(old)); n != kept {
			t.Errorf("%d bytes were kept, want %d", n, kept)
		}
	})
}
