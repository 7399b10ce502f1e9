package policy

// stepNotes is the accrual of kernels that count changes for ever: one
// polynomial a place. An instant costs as many multiplications as it has
// coefficients, times the powers of y.
type stepNotes struct {
	kernel
	a []float64 // by place, size numbers each
}

func newStepNotes(k kernel) *stepNotes { return &stepNotes{kernel: k} }

func (s *stepNotes) grow() { s.a = append(s.a, make([]float64, s.size())...) }

func (s *stepNotes) at(place int) []float64 {
	n := s.size()
	return s.a[place*n : place*n+n]
}

func (s *stepNotes) reset(place int) { clear(s.at(place)) }

func (s *stepNotes) add(place int, p float64) float64 {
	a := s.at(place)
	s.pass(a, p)
	a[0] += p
	return settle(s.worth(a), a)
}

// settle empties a once it is worth next to nothing.
func settle(worth float64, a []float64) float64 {
	if worth < negligible {
		clear(a)
		return 0
	}
	return worth
}
