package policy

import "freshet/internal/freshet"

// SharePolls shares polls a period out over sources that change by chance, so
// often a period and of such values, as a Cyclic policy does.
func SharePolls(changes, values []float64, period, polls int) []int {
	a := &pollAuction{}
	shares := make([]int, len(changes))
	for i := range changes {
		page := &cyclicPage{id: freshet.SourceID(rune('a' + i)), value: values[i]}
		a.bids = append(a.bids, &pollBid{slot: freshet.Slot(i), page: page, period: period, changes: changes[i]})
	}
	a.sell((float64(polls)+0.5)/float64(period), func(b *pollBid) { shares[b.slot] = b.polls })
	return shares
}
