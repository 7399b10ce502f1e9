package policy

import (
	"cmp"
	"math"
	"slices"
)

// A Site is a group of pages that are thought to change alike, as a cycle of
// sampling knows it: how many pages it has, how many of them were drawn at
// random, and how many of those had changed since they were last seen.
type Site struct {
	Size, Sampled, Changed int

	// Weight is what a changed page of the site is worth next to those of
	// other sites; 0 means 1.
	Weight float64
}

// Ratio returns the estimated share of the site's pages that have changed.
func (s Site) Ratio() float64 {
	if s.Sampled == 0 {
		return 0
	}
	return float64(s.Changed) / float64(s.Sampled)
}

// Worth returns what the download of one more page is expected to bring.
func (s Site) Worth() float64 { return cmp.Or(s.Weight, 1) * s.Ratio() }

// Left returns how many pages have not been sampled.
func (s Site) Left() int { return s.Size - s.Sampled }

// ShareGreedy gives downloads to whole sites, the most worth first, until they
// are used up: what maximises the changes that the samples lead one to expect
// (Cho and Ntoulas, Theorem 1). Sites of equal worth come in the order given.
func ShareGreedy(sites []Site, downloads float64) []float64 {
	shares := make([]float64, len(sites))
	for _, i := range byWorth(sites) {
		shares[i] = min(downloads, float64(sites[i].Left()))
		downloads -= shares[i]
	}
	return shares
}

// byWorth returns the places of sites, the most worth first.
func byWorth(sites []Site) []int {
	order := make([]int, len(sites))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sites[b].Worth(), sites[a].Worth()) })
	return order
}

// ShareProportional gives downloads to sites in proportion to their worth, and
// what a site has no pages for to the others. Sites without a changed sample
// share evenly what is then left.
func ShareProportional(sites []Site, downloads float64) []float64 {
	shares := make([]float64, len(sites))
	worth := func(i int) float64 { return sites[i].Worth() }
	even := func(int) float64 { return 1 }
	fill(sites, shares, fill(sites, shares, downloads, worth), even)
	return shares
}

// fill adds to the shares in proportion to part, none beyond what its site has
// left, and returns what nobody could take.
func fill(sites []Site, shares []float64, downloads float64, part func(i int) float64) float64 {
	const crumb = 1e-9
	for downloads > crumb {
		sum := 0.0
		for i := range sites {
			if float64(sites[i].Left())-shares[i] > crumb {
				sum += part(i)
			}
		}
		if sum <= 0 {
			break
		}
		given := 0.0
		for i := range sites {
			if room := float64(sites[i].Left()) - shares[i]; room > crumb {
				got := min(room, downloads*part(i)/sum)
				shares[i] += got
				given += got
			}
		}
		downloads -= given
	}
	return downloads
}

// Whole rounds shares to whole downloads with the same sum (rounded): the
// largest remainders are rounded up, the first of equals first.
func Whole(shares []float64) []int {
	const crumb = 1e-9
	whole := make([]int, len(shares))
	order := make([]int, len(shares))
	sum, given := 0.0, 0
	for i, share := range shares {
		whole[i], order[i] = int(math.Floor(share+crumb)), i
		sum += share
		given += whole[i]
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(shares[b]-float64(whole[b]), shares[a]-float64(whole[a]))
	})
	for _, i := range order[:max(0, min(len(order), int(math.Round(sum))-given))] {
		whole[i]++
	}
	return whole
}

// ExpectedChanges returns how many changed pages the samples and the shares
// bring together, if the samples speak for their sites.
func ExpectedChanges(sites []Site, shares []float64) float64 {
	sum := 0.0
	for i, s := range sites {
		sum += float64(s.Changed) + s.Ratio()*shares[i]
	}
	return sum
}
