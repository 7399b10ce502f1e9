package cluster_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/cluster"
)

// Headers are valid JSON and survive encoding and decoding, also with the payload before the sizes
// of blobs.
func TestHeads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`,"say":`, `,"blobs":[`, `}`, `"`})).Draw(t, "text")
		say, err := json.Marshal(map[string]any{"say": text, "blobs": rapid.SliceOfN(rapid.Int(), 0, 2).Draw(t, "list"), "a": nil})
		if err != nil {
			t.Fatal(err)
		}
		want := cluster.Head{
			Kind: rapid.SampledFrom([]string{"done", "order", "ping"}).Draw(t, "kind"),
			ID:   rapid.Uint64().Draw(t, "id"), Ask: rapid.Uint64Max(3).Draw(t, "ask"),
		}
		if rapid.Bool().Draw(t, "says") {
			want.Say = say
		}
		if n := rapid.SliceOfN(rapid.IntRange(-1, 1<<20), 1, 3).Draw(t, "blobs"); rapid.Bool().Draw(t, "has blobs") {
			want.Blobs = n
		}
		head := want.Write()
		other := fmt.Appendf(nil, `{"k":%q,"id":%d,"ask":%d`, want.Kind, want.ID, want.Ask)
		if want.Say != nil {
			other = fmt.Appendf(other, `,"say":%s`, want.Say)
		}
		if sizes, err := json.Marshal(want.Blobs); err != nil {
			t.Fatal(err)
		} else if want.Blobs != nil {
			other = fmt.Appendf(other, `,"blobs":%s`, sizes)
		}
		for _, text := range [][]byte{head, append(other, '}')} {
			if !json.Valid(text) {
				t.Fatalf("%s is not JSON", text)
			}
			got, err := cluster.ReadHead(text)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("%s: %v (-want +got):\n%s", text, err, diff)
			}
		}
	})
	for _, text := range []string{"", "{", `{"k":"done" "say":{}}`, `[],"say":{}}`} {
		if got, err := cluster.ReadHead([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
