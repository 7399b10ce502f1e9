package freshet_test

import (
	"encoding/json"
	"errors"
	"testing"

	"freshet/internal/freshet"
)

func TestParsePlace(t *testing.T) {
	tests := []struct {
		text string
		want freshet.Place
		ok   bool
	}{
		{"0", freshet.Place{}, true},
		{"17", freshet.Place{Cursor: 17}, true},
		{"17~k3f9q2xw", freshet.Place{Cursor: 17, Epoch: "k3f9q2xw"}, true},
		{"9223372036854775807~a", freshet.Place{Cursor: 1<<63 - 1, Epoch: "a"}, true},
		{"", freshet.Place{}, false},
		{"-1", freshet.Place{}, false},
		{"9223372036854775808", freshet.Place{}, false},
		{"017", freshet.Place{}, false},
		{"1e3", freshet.Place{}, false},
		{" 1", freshet.Place{}, false},
		{"~k3f9q2xw", freshet.Place{}, false},
		{"17~", freshet.Place{}, false},
		{"17~K", freshet.Place{}, false},
		{"17~a~b", freshet.Place{}, false},
		{"17~aaaaaaaaaaaaaaaaa", freshet.Place{}, false},
	}
	for _, tt := range tests {
		got, err := freshet.ParsePlace(tt.text)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q is read as %+v (%v), want %+v", tt.text, got, err, tt.want)
		}
		if tt.ok && got.String() != tt.text {
			t.Errorf("%q is written as %q", tt.text, got)
		}
	}
}

func FuzzParsePlace(f *testing.F) {
	for _, seed := range []string{"0", "17~k3f9q2xw", "1~", "99999999999999999999", "1~a\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := freshet.ParsePlace(text)
		if err != nil {
			return
		}
		if p.String() != text {
			t.Errorf("%q is written as %q", text, p)
		}
		var again freshet.Place
		if b, err := json.Marshal(p); err != nil || json.Unmarshal(b, &again) != nil || again != p {
			t.Errorf("%q comes back from JSON as %+v", text, again)
		}
	})
}

// A place is good if this log has its epoch that far; all that came before an epoch
// that both logs have is the same in both.
func TestEpochsFind(t *testing.T) {
	log := freshet.Epochs{{Epoch: "", After: 0}, {Epoch: "a", After: 10}, {Epoch: "b", After: 20}, {Epoch: "c", After: 20}}
	const end = 30
	tests := []struct {
		place, resume string
		gone          bool
	}{
		{place: "0"}, {place: "0~x"}, {place: "1"}, {place: "10"},
		{place: "11~a"}, {place: "20~a"}, {place: "5~a"}, // as a client reckons that goes back a few
		{place: "20~b"}, {place: "21~c"}, {place: "30~c"},
		{place: "11", resume: "10", gone: true},
		{place: "21~a", resume: "20~a", gone: true},
		{place: "21~b", resume: "20~a", gone: true}, // a run that gave out nothing here
		{place: "31~c", resume: "30~c", gone: true},
		{place: "1~x", resume: "0", gone: true},
	}
	for _, tt := range tests {
		p, err := freshet.ParsePlace(tt.place)
		if err != nil {
			t.Fatal(err)
		}
		at, err := log.Find(p, end)
		gone, ok := errors.AsType[*freshet.GoneError](err)
		switch {
		case ok != tt.gone || !ok && (err != nil || at != p.Cursor):
			t.Errorf("%s is at %d (%v), want it gone: %t", tt.place, at, err, tt.gone)
		case ok && (gone.Resume.String() != tt.resume || gone.End.String() != "30~c" || !errors.Is(err, freshet.ErrGone) || freshet.HintOf(err) == ""):
			t.Errorf("%s gives %+v, want to be sent on from %s", tt.place, gone, tt.resume)
		}
	}
	for at, want := range map[freshet.Cursor]string{0: "0", 1: "1", 10: "10", 11: "11~a", 20: "20~a", 21: "21~c", 30: "30~c"} {
		if got := log.Place(at).String(); got != want {
			t.Errorf("the place of %d is %s, want %s", at, got, want)
		}
	}
}
