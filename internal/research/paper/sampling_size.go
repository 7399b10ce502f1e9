package paper

import "math"

// printedSampleSize is Theorem 2 of Cho and Ntoulas as printed. Density is that
// of the sites at the share of changed pages above which sites are downloaded,
// above the mean share of those sites and mean that of all. Its derivation
// slips, and its answer is too small; see correctedSampleSize.
func printedSampleSize(pages, ratio, density, above, mean float64) float64 {
	return math.Sqrt(pages * ratio * density / (6 * (above - mean)))
}

// correctedSampleSize is Theorem 2 derived anew: what samples displace is the
// marginal download (a site at the threshold), a share of the samples would
// have been downloaded anyhow, and the estimate's variance is that of a
// proportion. Below is the mean share of changed pages of the sites that are
// not downloaded.
func correctedSampleSize(pages, ratio, density, threshold, below float64) float64 {
	return math.Sqrt(pages * density * threshold * (1 - threshold) / (2 * (1 - ratio) * (threshold - below)))
}
