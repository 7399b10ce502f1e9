package lab

// BoundAt returns the bound that the given prices prove: prices[j-1] is that of
// instant j. Any prices prove one.
func BoundAt(prices []float64, budget float64, pages []Gains) float64 {
	n := len(prices)
	from1 := append([]float64{0}, prices...)
	work := 0
	return newModel(n, pages).market(budget).bound(from1, make([]float64, n+1), &work)
}
