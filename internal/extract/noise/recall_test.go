package noise_test

import (
	"errors"
	"slices"
	"testing"

	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
)

// past is the log of a page that is polled k times, the newest outcome first. Every
// seventh poll fails, and every fifth finds the page as before.
func past(k int) (newest []freshet.Outcome) {
	version := 0
	for i := range k {
		o := freshet.Outcome{Result: freshet.Changed}
		switch {
		case i%7 == 6:
			o.Result = freshet.Failed
		case i%5 == 4:
			o.Result, o.Version = freshet.Unchanged, version
		default:
			version++
			o.Version = version
		}
		newest = append(newest, o)
	}
	newest[0].Result = freshet.First
	slices.Reverse(newest)
	return newest
}

func textsOf(s site) func(int) ([]byte, error) {
	return func(version int) ([]byte, error) { return []byte(s.at(version)), nil }
}

// What is recalled is what a memory knows that was told of every poll.
func TestRecallIsAsIfJudged(t *testing.T) {
	for _, s := range slices.Concat(noisySites(), honestSites()) {
		t.Run(s.name, func(t *testing.T) {
			newest := past(40)
			var told noise.Memory
			version := 1
			for _, o := range slices.Backward(newest[:len(newest)-1]) {
				if !o.Result.Seen() || o.Version == version {
					told.Pass(1)
					continue
				}
				told.Judge([]byte(s.at(version)), []byte(s.at(o.Version)))
				version = o.Version
			}
			want, _ := told.MarshalBinary()
			recalled := noise.Recall(newest, textsOf(s))
			got, _ := recalled.MarshalBinary()
			if string(got) != string(want) {
				t.Errorf("what is recalled tells %+v, want %+v", recalled.Report(), told.Report())
			}
			if last := []byte(s.at(version)); !recalled.Follows(last) || recalled.Follows(append(last, '.')) {
				t.Error("what is recalled does not lead up to the newest version")
			}
			if !noise.Restless(newest) {
				t.Error("a page that differs at nearly every poll is not restless")
			}
		})
	}
}

// Recalling ends where the page was read otherwise, where a text is lost, and before
// it takes too long.
func TestRecallHasAnEnd(t *testing.T) {
	s := siteNamed("clock")
	read := map[string]int{}
	for _, tt := range []struct {
		name     string
		log      []freshet.Outcome
		text     func(int) ([]byte, error)
		differed int
	}{
		{"nothing", nil, textsOf(s), 0},
		{"all failed", []freshet.Outcome{{Result: freshet.Failed}, {Result: freshet.Doubted, Version: 3}}, textsOf(s), 0},
		{"one version", []freshet.Outcome{{Result: freshet.Unchanged, Version: 1}, {Result: freshet.First, Version: 1}}, textsOf(s), 0},
		{"another reading", slices.Concat(past(4), past(30)), textsOf(s), 3},
		{"a text is lost", past(20), func(version int) ([]byte, error) {
			if version == 5 {
				return nil, errors.New("lost")
			}
			return []byte(s.at(version)), nil
		}, 8},
		{"many", past(200), textsOf(s), 59},
		{"long", past(20), func(version int) ([]byte, error) {
			return slices.Concat([]byte(s.at(version)), make([]byte, 3<<20)), nil
		}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := noise.Recall(tt.log, func(version int) ([]byte, error) {
				read[tt.name]++
				return tt.text(version)
			})
			if r := m.Report(); r.Differed != tt.differed || read[tt.name] > 60 {
				t.Errorf("%d steps were recalled from %d texts, want %d", r.Differed, read[tt.name], tt.differed)
			}
		})
	}
}

func TestRestless(t *testing.T) {
	seen := func(versions ...int) (log []freshet.Outcome) {
		for _, v := range versions {
			log = append(log, freshet.Outcome{Result: freshet.Unchanged, Version: v})
		}
		return log
	}
	calm := seen(9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 5, 4, 3, 2, 1)
	for _, tt := range []struct {
		name string
		log  []freshet.Outcome
		want bool
	}{
		{"nothing", nil, false}, {"one", seen(1), false}, {"three steps", seen(4, 3, 2, 1), false}, {"four", seen(5, 4, 3, 2, 1), true},
		{"long ago", calm, false}, {"held versions", []freshet.Outcome{{Result: freshet.Doubted, Version: 9}, {Result: freshet.Doubted, Version: 8}, {Result: freshet.Doubted, Version: 7}, {Result: freshet.Doubted, Version: 6}, {Version: 5}}, false},
	} {
		if got := noise.Restless(tt.log); got != tt.want {
			t.Errorf("%s: restless is %v, want %v", tt.name, got, tt.want)
		}
	}
}
