package policy

import "cmp"

// A Verdict is what adaptive sampling makes of a site after a round of samples.
type Verdict uint8

// The verdicts.
const (
	Undecided Verdict = iota // the samples do not tell yet
	Discard                  // too few pages have changed
	Download                 // all of it
)

// Threshold returns the worth of the site at which the downloads run out when
// whole sites are downloaded, the most worth first; less than any worth if they
// suffice for all.
func Threshold(sites []Site, downloads float64) float64 {
	for _, i := range byWorth(sites) {
		if downloads -= float64(sites[i].Left()); downloads < 0 {
			return sites[i].Worth()
		}
	}
	return -1
}

// CautiousThreshold returns the threshold of estimates that are drawn towards a half,
// as if two pages more had been sampled and one of them had changed. After one sample
// bare estimates are 0 or 1, and so is a threshold that is one of them: then every
// site can be distinguished from it, at any confidence.
func CautiousThreshold(sites []Site, downloads float64) float64 {
	drawn := make([]Site, len(sites))
	for i, s := range sites {
		s.Size, s.Sampled, s.Changed = s.Size+2, s.Sampled+2, s.Changed+1
		drawn[i] = s
	}
	return Threshold(drawn, downloads)
}

// Judge says for each site whether its samples tell, at the confidence that
// interval stands for, on which side of the threshold it lies (Cho and Ntoulas,
// Algorithm 3.1). A site without samples is undecided.
func Judge(sites []Site, threshold float64, interval func(Site) Interval) []Verdict {
	verdicts := make([]Verdict, len(sites))
	for i, s := range sites {
		if s.Sampled == 0 {
			continue
		}
		worth, in := cmp.Or(s.Weight, 1), interval(s)
		switch {
		case in.High*worth < threshold:
			verdicts[i] = Discard
		case in.Low*worth > threshold:
			verdicts[i] = Download
		}
	}
	return verdicts
}
