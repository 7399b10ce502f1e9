package bench

import (
	"math"
)

// A SoakSample is how the daemon stands at a moment.
type SoakSample struct {
	Seconds    float64 `json:"seconds"`
	Polls      int64   `json:"polls"`
	PerSecond  float64 `json:"polls_per_second"` // since the sample before
	Failed     int64   `json:"failed"`
	Captured   int64   `json:"captured"`
	MostLate   float64 `json:"most_late_seconds"` // since the sample before, looking every second
	RSS        int64   `json:"rss_bytes"`
	Heap       int64   `json:"heap_bytes"`
	Files      int     `json:"files"`
	Goroutines int     `json:"goroutines"`
	Store      int64   `json:"store_bytes"`
	WAL        int64   `json:"wal_bytes"`
	PerPoll    float64 `json:"store_bytes_per_poll"` // since the sample before
	CPU        float64 `json:"cpu_seconds"`
	CPUShare   float64 `json:"cpu_share"` // of one core, since the sample before
	Owed       int     `json:"deliveries_owed"`
	Delivered  int64   `json:"delivered"`
	Streamed   int64   `json:"streamed"`
}

// rates computes the rates since the sample before.
func (s *SoakSample) rates(before SoakSample) {
	if span := s.Seconds - before.Seconds; span > 0 {
		s.PerSecond = float64(s.Polls-before.Polls) / span
		s.CPUShare = (s.CPU - before.CPU) / span
	}
	if polls := s.Polls - before.Polls; polls > 0 && before.Polls > 0 {
		s.PerPoll = float64(s.Store-before.Store) / float64(polls)
	}
}

// A SoakVerdict says of each quantity how it moved after the warm-up, and whether
// that is flat.
type SoakVerdict struct {
	Trends []Trend `json:"trends"`
	Flat   bool    `json:"flat"`
}

// A Trend is the straight line through the samples of one quantity.
type Trend struct {
	Name    string  `json:"name"`
	Mean    float64 `json:"mean"`
	PerHour float64 `json:"per_hour"`
	Noise   float64 `json:"noise"`  // how far samples lie from the line, typically
	Change  float64 `json:"change"` // over the samples, as a share of the mean
	Allowed float64 `json:"allowed"`
	Flat    bool    `json:"flat"`
}

// JudgeSoak fits a line to each quantity, leaving the warm-up out. A quantity is
// flat if the line rises over the samples by no more than its allowance, a share
// of the mean, or by less than its samples scatter.
func JudgeSoak(samples []SoakSample) (v SoakVerdict) {
	samples = samples[int(warmUp*float64(len(samples))):]
	v.Flat = len(samples) > 2
	for _, q := range soakQuantities {
		t := q.trend(samples)
		v.Trends = append(v.Trends, t)
		v.Flat = v.Flat && t.Flat
	}
	return v
}

// soakQuantities are what is looked at, and how much each may grow in a soak.
// The store may: every outcome is kept for weeks, so that what it grows by a poll
// is what has to stay the same. The WAL is as large as the longest stretch between
// two checkpoints ever was, so it creeps up; it is cut back at 64 MiB.
var soakQuantities = []soakQuantity{
	{"memory", 0.10, 0, func(s SoakSample) float64 { return float64(s.RSS) }},
	{"heap", 0.10, 0, func(s SoakSample) float64 { return float64(s.Heap) }},
	{"files", 0.10, 0, func(s SoakSample) float64 { return float64(s.Files) }},
	{"goroutines", 0.10, 0, func(s SoakSample) float64 { return float64(s.Goroutines) }},
	{"wal", 0.25, 32 << 20, func(s SoakSample) float64 { return float64(s.WAL) }},
	{"store bytes a poll", 0.25, 0, func(s SoakSample) float64 { return s.PerPoll }},
	{"lateness", 0.25, 0, func(s SoakSample) float64 { return s.MostLate }},
	{"cpu", 0.25, 0, func(s SoakSample) float64 { return s.CPUShare }},
	{"deliveries owed", 0.25, 0, func(s SoakSample) float64 { return float64(s.Owed) }},
	{"polls a second, missing", 0.10, 0, func(s SoakSample) float64 { return -s.PerSecond }},
}

// A soakQuantity is one of them.
type soakQuantity struct {
	name    string
	allowed float64
	small   float64 // as long as it is no more than this it may grow as it likes
	of      func(SoakSample) float64
}

// trend fits the line by least squares.
func (q soakQuantity) trend(samples []SoakSample) Trend {
	t := Trend{Name: q.name, Allowed: q.allowed, Flat: true}
	n := float64(len(samples))
	if n < 3 {
		return t
	}
	var sx, sy float64
	for _, s := range samples {
		sx += s.Seconds / n
		sy += q.of(s) / n
	}
	var sxx, sxy float64
	for _, s := range samples {
		sxx += (s.Seconds - sx) * (s.Seconds - sx)
		sxy += (s.Seconds - sx) * (q.of(s) - sy)
	}
	slope := sxy / sxx
	var rest float64
	for _, s := range samples {
		off := q.of(s) - sy - slope*(s.Seconds-sx)
		rest += off * off / n
	}
	rise := slope * (samples[len(samples)-1].Seconds - samples[0].Seconds)
	t.Mean, t.PerHour, t.Noise = sy, slope*3600, math.Sqrt(rest)
	if sy != 0 {
		t.Change = rise / math.Abs(sy)
	}
	t.Flat = rise <= max(q.allowed*math.Abs(sy), t.Noise) || q.small > 0 && q.of(samples[len(samples)-1]) <= q.small
	return t
}
