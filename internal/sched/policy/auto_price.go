package policy

// Price returns what a poll has been worth of late at the margin of the budget:
// the least that was polled for. It is 0 while that is not known.
func (a *Auto) Price() float64 { return a.margin.price }

// A margin finds the price at which the budget is just spent.
type margin struct {
	least float64 // polled for since the last ranking
	any   bool
	price float64

	gain   float64 // that was expected of that poll
	brings float64 // what the polls at the price have been expected to capture
}

// sold notes the worth of a poll that was made.
func (m *margin) sold(worth, gain float64) {
	if !m.any || worth < m.least {
		m.least, m.gain, m.any = worth, gain, true
	}
}

// close ends a ranking.
func (m *margin) close() {
	const grip = 0.9 // that the price has on itself
	switch {
	case !m.any:
		return
	case m.price == 0:
		m.price, m.brings = m.least, m.gain
	default:
		m.brings = grip*m.brings + (1-grip)*m.gain
		m.price = grip*m.price + (1-grip)*m.least
	}
	m.any = false
}
