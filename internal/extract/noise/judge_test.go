package noise_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/extract/noise"
)

// warm is how many versions are for learning.
const warm = 10

func TestNoiseIsSpared(t *testing.T) {
	for _, s := range noisySites() {
		t.Run(s.name, func(t *testing.T) {
			var m noise.Memory
			var spared, noisy int
			for k := 1; k < rounds; k++ {
				j := m.Judge([]byte(s.at(k-1)), []byte(s.at(k)))
				switch {
				case k < warm:
				case s.real(k):
					if j.Verdict != noise.Change {
						t.Errorf("step %d is %s, but something real has changed (%q)", k, j.Verdict, j.Where)
					}
				default:
					if noisy++; j.Verdict != noise.Change {
						spared++
					}
				}
			}
			if spared*20 < noisy*19 {
				t.Errorf("%d of %d steps that are only noise were spared, want 95%%", spared, noisy)
			}
		})
	}
}

func TestWhatSomebodyMayWatchIsNeverNoise(t *testing.T) {
	for _, s := range honestSites() {
		t.Run(s.name, func(t *testing.T) {
			var m noise.Memory
			for k := 1; k < 25; k++ {
				old, new := s.at(k-1), s.at(k)
				if j := m.Judge([]byte(old), []byte(new)); old != new && j.Verdict != noise.Change {
					t.Errorf("step %d is %s (%q), want a change", k, j.Verdict, j.Where)
				}
			}
		})
	}
}

// A page that goes back and forth is told as such.
func TestFlapping(t *testing.T) {
	var m noise.Memory
	var verdicts []noise.Verdict
	for k := 1; k < 12; k++ {
		j := m.Judge([]byte(terms(k%2, nil, nil)), []byte(terms((k+1)%2, nil, nil)))
		verdicts = append(verdicts, j.Verdict)
		if j.Flapping != (j.Verdict == noise.Noise) {
			t.Errorf("step %d: flapping is %v, and the verdict %s", k, j.Flapping, j.Verdict)
		}
	}
	if i := slices.Index(verdicts, noise.Noise); i < 3 || i > 5 || slices.Contains(verdicts[i:], noise.Change) {
		t.Errorf("the verdicts on a page that flaps are %v, want changes at first and then noise", verdicts)
	}
}

// An edit that is taken back is two changes.
func TestRevertIsAChange(t *testing.T) {
	var m noise.Memory
	for range 20 {
		m.Judge([]byte(terms(1, nil, nil)), []byte(terms(1, nil, nil)))
	}
	for _, to := range []int{2, 1} {
		if j := m.Judge([]byte(terms(3-to, nil, nil)), []byte(terms(to, nil, nil))); j.Verdict != noise.Change {
			t.Errorf("the step to wording %d is %s", to, j.Verdict)
		}
	}
}

// A number that does not usually change comes through, whatever else differs in its
// line.
func TestRareNumberInANoisyLine(t *testing.T) {
	var m noise.Memory
	text := func(k, places int) []byte {
		return []byte(terms(0, line("%d places left, %d views", places, 100+k), nil))
	}
	for k := 1; k < 30; k++ {
		want := noise.Noise
		places, before := 5, 5
		if k < warm {
			want = ""
		}
		if k == 20 {
			places, want = 4, noise.Change
		} else if k > 20 {
			places, before = 4, 4
		}
		if j := m.Judge(text(k-1, before), text(k, places)); want != "" && j.Verdict != want {
			t.Errorf("step %d is %s, want %s", k, j.Verdict, want)
		}
	}
}

// Where advertisements take turns a new one is noise, but not a line that says a
// number, a date or a state.
func TestNewLineAmongAdvertisements(t *testing.T) {
	s := siteNamed("advertisements")
	for text, want := range map[string]noise.Verdict{
		"Try the umbrella of Smith and sons": noise.Noise,
		"The shop moves on 12 May 2026":      noise.Change,
		"Only 3 pumps are left":              noise.Change,
		"Pumps are sold out":                 noise.Change,
	} {
		var m noise.Memory
		last := 51 // the poll before has the same clauses
		for k := 1; k <= last; k++ {
			m.Judge([]byte(s.at(k-1)), []byte(s.at(k)))
		}
		lines := strings.Split(s.at(last), "\n")
		lines[1] = text
		if j := m.Judge([]byte(s.at(last)), []byte(strings.Join(lines, "\n"))); j.Verdict != want {
			t.Errorf("the line %q is %s, want %s", text, j.Verdict, want)
		}
	}
}

// An address that is shown or hidden is the same; another address is not.
func TestAddresses(t *testing.T) {
	for _, tt := range []struct {
		old, new string
		want     noise.Verdict
	}{
		{"[email protected]", "desk@example.org", noise.Noise},
		{"desk@example.org", "[email protected]", noise.Noise},
		{"desk@example.org", "shop@example.org", noise.Change},
	} {
		var m noise.Memory
		text := func(address string) []byte { return []byte(terms(0, line("Write to %s.", address), nil)) }
		if j := m.Judge(text(tt.old), text(tt.new)); j.Verdict != tt.want {
			t.Errorf("the step from %s to %s is %s, want %s", tt.old, tt.new, j.Verdict, tt.want)
		}
	}
}

// An order that differs for once is a change.
func TestOrderForOnce(t *testing.T) {
	var m noise.Memory
	m.Pass(20)
	one, two := terms(0, nil, []string{"Buy a pump", "Buy a rope"}), terms(0, nil, []string{"Buy a rope", "Buy a pump"})
	if j := m.Judge([]byte(one), []byte(two)); j.Verdict != noise.Change {
		t.Errorf("two rows that have changed places are %s", j.Verdict)
	}
}

// One more of a line that a page has many times is a change, however often that
// happens.
func TestCountOfEqualLines(t *testing.T) {
	var m noise.Memory
	text := func(k int) []byte {
		rows := []string{"Crew: at work", "Crew: at work", "Crew: on its way", "Crew: on its way"}
		rows[1+chance(15, k).IntN(2)] = []string{"Crew: at work", "Crew: on its way"}[k%2]
		return []byte(terms(0, rows, nil))
	}
	for k := 1; k < rounds; k++ {
		if j := m.Judge(text(k-1), text(k)); j.Verdict == noise.Noise && !j.Flapping {
			t.Errorf("step %d is %s (%q)", k, j.Verdict, j.Where)
		}
	}
}

// What has become younger has happened again.
func TestAgeThatStartsAnew(t *testing.T) {
	var m noise.Memory
	say := func(age string) []byte { return []byte(terms(0, line("Last answer %s", age), nil)) }
	ages := []string{"3 hours ago", "4 hours ago", "yesterday", "2 days ago", "3 weeks ago", "an hour ago", "2 hours ago"}
	for k := 1; k < len(ages); k++ {
		want := noise.Noise
		if ages[k] == "an hour ago" {
			want = noise.Change
		}
		if j := m.Judge(say(ages[k-1]), say(ages[k])); j.Verdict != want {
			t.Errorf("the step from %q to %q is %s, want %s", ages[k-1], ages[k], j.Verdict, want)
		}
	}
}

// Noise that begins when the page has long been known is learnt in a few polls.
func TestNoiseThatBeginsLate(t *testing.T) {
	var m noise.Memory
	m.Pass(1000)
	spared := 0
	for k := 1; k <= 20; k++ {
		text := func(k int) []byte { return []byte(terms(0, nil, line("Updated at 12:%02d:00", k))) }
		if m.Judge(text(k-1), text(k)).Verdict == noise.Noise {
			spared++
		}
	}
	if spared < 13 {
		t.Errorf("%d of 20 steps were spared, want all but the first few", spared)
	}
}

// A step that is too large to be looked at is a change, and takes bounded time.
func TestHugeTexts(t *testing.T) {
	var m noise.Memory
	old, new := strings.Repeat("a\nb\n", 150_000), strings.Repeat("b\nc\n", 150_000)
	if j := m.Judge([]byte(old), []byte(new)); j.Verdict != noise.Change {
		t.Errorf("the step is %s", j.Verdict)
	}
	long := strings.Repeat("12:03 ", 1<<20)
	if j := m.Judge([]byte(long+"x"), []byte(long+"y")); j.Verdict != noise.Change {
		t.Errorf("a change far into a line is %s", j.Verdict)
	}
}

// words are texts of words that say no number, date or state.
func words(t *rapid.T, name string) string {
	n := rapid.IntRange(1, 6).Draw(t, name+" length")
	var all []string
	for i := range n {
		all = append(all, rapid.StringMatching(`[b-df-hj-np-tv-z][aeiou][b-df-hj-np-tv-z][aeiou]{1,2}`).Draw(t, fmt.Sprint(name, i)))
	}
	return strings.Join(all, " ")
}

// trained returns a memory of a noisy site and its last text.
func trained(t *rapid.T) (*noise.Memory, string) {
	sites := noisySites()
	s := sites[rapid.IntRange(0, len(sites)-1).Draw(t, "site")]
	var m noise.Memory
	polls := rapid.IntRange(1, 30).Draw(t, "polls")
	for k := 1; k <= polls; k++ {
		m.Judge([]byte(s.at(k-1)), []byte(s.at(k)))
	}
	return &m, s.at(polls)
}

func TestEqualTextsAreTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, text := trained(t)
		if j := m.Judge([]byte(text), []byte(text)); j.Verdict != noise.Same {
			t.Fatalf("an equal text is %s", j.Verdict)
		}
	})
}

func TestEditOfALineThatNeverFlippedIsAChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, text := trained(t)
		lines := strings.Split(text, "\n")
		at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		edited := slices.Clone(lines)
		switch rapid.IntRange(0, 2).Draw(t, "edit") {
		case 0:
			if at == 0 || !strings.HasPrefix(lines[at-1], "Clause") || !strings.HasPrefix(lines[at], "Clause") {
				t.Skip("lines may take turns there")
			}
			edited = slices.Insert(edited, at, "Notice: "+words(t, "new"))
		case 1:
			if !strings.HasPrefix(lines[at], "Clause") {
				t.Skip("that line may flip")
			}
			edited = slices.Delete(edited, at, at+1)
		case 2:
			if !strings.HasPrefix(lines[at], "Clause") {
				t.Skip("that line may flip")
			}
			edited[at] += " " + words(t, "more")
		}
		if j := m.Judge([]byte(text), []byte(strings.Join(edited, "\n"))); j.Verdict != noise.Change {
			t.Fatalf("the edit is %s (%q)", j.Verdict, j.Where)
		}
	})
}
