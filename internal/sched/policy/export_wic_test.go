package policy

// Exponentials returns the weights and decays of the trapezoid rule.
func Exponentials(a, h, low, high float64) (weights, decays []float64) {
	for _, e := range exponentials(a, h, low, high) {
		weights, decays = append(weights, e.weight), append(decays, e.decay)
	}
	return weights, decays
}
