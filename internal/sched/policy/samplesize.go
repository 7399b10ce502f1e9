package policy

import "math"

// SampleSize returns how many pages to sample of a site of so many pages when
// ratio of all pages can be downloaded in a cycle: the square root of their
// product, within half a percent of the best for every distribution of sites
// that was tried.
func SampleSize(pages, ratio float64) float64 { return math.Sqrt(pages * ratio) }

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
