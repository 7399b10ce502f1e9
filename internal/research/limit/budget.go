package limit

// LeastBudget returns the least budget at which limit, which gives the share of
// all changes that a budget can capture, is the share that is wanted: a whole
// number, or a fraction (to the hundredth part) if less than one poll an instant
// will do. One poll a page and instant captures everything, so there always is
// one.
func LeastBudget(wanted float64, limit func(budget float64) (float64, error)) (float64, error) {
	enough := func(budget float64) (bool, error) {
		share, err := limit(budget)
		// A limit is a sum of many; what it lacks by rounding it does not lack.
		return share >= wanted-1e-9, err
	}
	low, high := 0, 1 // polls an instant that do not suffice, and that may
	for {
		fits, err := enough(float64(high))
		if err != nil {
			return 0, err
		}
		if fits {
			break
		}
		low, high = high, 2*high
	}
	if high == 1 {
		n, err := narrow(0, 100, func(n int) (bool, error) { return enough(float64(n) / 100) })
		return float64(n) / 100, err
	}
	n, err := narrow(low, high, func(n int) (bool, error) { return enough(float64(n)) })
	return float64(n), err
}

// narrow halves the distance between what does not suffice and what does until
// there is nothing in between, and returns what does.
func narrow(low, high int, enough func(int) (bool, error)) (int, error) {
	for high-low > 1 {
		middle := (low + high) / 2
		fits, err := enough(middle)
		switch {
		case err != nil:
			return high, err
		case fits:
			high = middle
		default:
			low = middle
		}
	}
	return high, nil
}
