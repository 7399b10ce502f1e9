package freshet_test

import (
	"reflect"
	"testing"
	"time"

	"freshet/internal/freshet"
)

func TestPackedSources(t *testing.T) {
	list := []freshet.Source{
		{ID: "a", URL: "https://a.example/", Name: "A", Tags: []string{"x", "y"}, Weight: 2, MaxGap: time.Hour},
		{URL: "https://b.example/?q=\"1\"", Paused: true},
	}
	packed := freshet.PackSources(list...)
	if packed.Len() != len(list) {
		t.Fatalf("there are %d sources", packed.Len())
	}
	for i, got := range packed.All() {
		if !reflect.DeepEqual(got, list[i]) {
			t.Errorf("source %d is %+v, want %+v", i, got, list[i])
		}
	}
	if packed.Hash() != freshet.PackSources(list...).Hash() || packed.Hash() == freshet.PackSources(list[1], list[0]).Hash() {
		t.Error("only equal lists share a hash")
	}
}
