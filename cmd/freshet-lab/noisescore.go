package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"freshet/internal/cli"
	"freshet/internal/freshet"
	"freshet/internal/research/archive"
)

// labelled are what people say of the steps of series.
type labelled struct {
	Series map[string]struct {
		Steps map[string]string `json:"all_steps"`
	} `json:"series"`
}

// learning is how many versions of a series are for learning and do not count.
const learning = 10

func readLabels(file string) (l labelled, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil {
		err = freshet.WithHint(cli.Usagef("cannot read the labels: %v", err), "freshet-lab noise --help says what the file looks like")
	}
	return l, err
}

// A noiseScore counts how many steps were judged right.
type noiseScore struct {
	noise, spared, plain int // steps that are noise, those judged as such, and those that read the same
	real, lost           int // steps that are real, and those judged as noise
}

func (s *noiseScore) add(o noiseScore) {
	s.noise, s.spared, s.plain = s.noise+o.noise, s.spared+o.spared, s.plain+o.plain
	s.real, s.lost = s.real+o.real, s.lost+o.lost
}

// score compares a replay with its labels.
func (l labelled) score(r archive.Replay) (s noiseScore) {
	labels := l.Series[r.Name].Steps
	for _, step := range r.Steps {
		if step.Step < learning {
			continue
		}
		switch labels[strconv.Itoa(step.Step)] {
		case "noise":
			s.noise++
			if step.Verdict == archive.Noise || step.Verdict == archive.Same {
				s.spared++
			}
			if !step.Differs {
				s.plain++
			}
		case "real":
			s.real++
			if step.Verdict != archive.Change {
				s.lost++
			}
		}
	}
	return s
}

// printScores shows how many steps were judged right, before and after noise is learnt.
func (l *noiseRun) printScores(known labelled, replays []archive.Replay) error {
	rows := table{head: "SERIES\tNOISE\tSPARED\tBY TEXT ALONE\tREAL\tLOST"}
	show := func(name string, s noiseScore) {
		rows.add(name, s.noise, shareOf(s.spared, s.noise), shareOf(s.plain, s.noise), s.real, shareOf(s.lost, s.real))
	}
	var all noiseScore
	for _, r := range replays {
		s := known.score(r)
		all.add(s)
		show(cli.Harmless(r.Name), s)
	}
	show("all", all)
	return rows.write(l.out)
}

func shareOf(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(of))
}
