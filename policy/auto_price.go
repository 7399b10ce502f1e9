package policy

// Price returns what a poll has been worth of late at the margin of the budget:
// the least that was polled for. It is 0 while that is not known.
func (a *Auto) Price() float64 { return a.margin.price }

// A margin finds the price at which the budget is just spent.
type margin struct {
	least float64 // polled for since the last ranking
	any   bool
	price float64
}

// sold notes the worth of a poll that was made.
func (m *margin) sold(worth float64) {
	if !m.any || worth < m.least {
		m.least, m.any = worth, true
	}
}

// close ends a ranking.
func (m *margin) close() {
	const grip = 0.9 // that the price has on itself
	switch {
	case !m.any:
		return
	case m.price == 0:
		m.price = m.least
	default:
		m.price = grip*m.price + (1-grip)*m.least
	}
	m.any = false
}
