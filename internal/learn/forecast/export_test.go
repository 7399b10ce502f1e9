package forecast

import "math"

// NewExact is New without any lumping.
func NewExact(prospects []Prospect, t Terms) *Market { return newMarket(prospects, t, math.MaxInt) }
