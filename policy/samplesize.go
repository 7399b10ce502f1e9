package policy

import "math"

// SampleSize returns how many pages to sample of a site of so many pages when
// ratio of all pages can be downloaded in a cycle: the square root of their
// product, within half a percent of the best for every distribution of sites
// that was tried.
func SampleSize(pages, ratio float64) float64 { return math.Sqrt(pages * ratio) }

// PrintedSampleSize is Theorem 2 of Cho and Ntoulas as printed. Density is that
// of the sites at the share of changed pages above which sites are downloaded,
// above the mean share of those sites and mean that of all. Its derivation
// slips, and its answer is too small; see CorrectedSampleSize.
func PrintedSampleSize(pages, ratio, density, above, mean float64) float64 {
	return math.Sqrt(pages * ratio * density / (6 * (above - mean)))
}

// CorrectedSampleSize is Theorem 2 derived anew: what samples displace is the
// marginal download (a site at the threshold), a share of the samples would
// have been downloaded anyhow, and the estimate's variance is that of a
// proportion. Below is the mean share of changed pages of the sites that are
// not downloaded.
func CorrectedSampleSize(pages, ratio, density, threshold, below float64) float64 {
	return math.Sqrt(pages * density * threshold * (1 - threshold) / (2 * (1 - ratio) * (threshold - below)))
}

// AfterSampling returns how many downloads of a cycle are left after so many
// samples, each of which costs so much of a download. Below a cost of 1 a
// sample only finds out whether a page has changed, so the changed ones have
// yet to be downloaded.
func AfterSampling(downloads, samples, cost float64) float64 { return downloads - cost*samples }

// SubsetPages returns how many pages a subset of the sites should have, so that
// the downloads of one cycle suffice for its often changing part: high is that
// part of all pages.
func SubsetPages(downloads, high float64) float64 { return downloads / high }

// Subset returns how many sites from the one at start on, round and round, make
// up a subset of so many pages: at least one, and none twice.
func Subset(sizes []int, start int, pages float64) int {
	n, sum := 0, 0.0
	for n < len(sizes) {
		sum += float64(sizes[(start+n)%len(sizes)])
		n++
		if sum >= pages {
			break
		}
	}
	return n
}

// RoundCycles returns within how many cycles every page is visited when share
// of the downloads go round-robin.
func RoundCycles(pages, downloads, share float64) float64 { return pages / (share * downloads) }
