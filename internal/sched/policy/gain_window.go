package policy

// windowNotes is the accrual of kernels that count a change for so many
// instants only. Instants fall out of the window one by one, and what they
// brought must leave the sum without being subtracted: a difference of sums
// leaves crumbs where there is nothing, and cannot undo a chance of 1.
//
// So the instants of a window lie in two parts, as a queue made of two stacks.
// Each instant of the older part holds the polynomial of itself and all of that
// part after it; of the newer part the sum and the product of all passes are
// kept. The window is the older part's first polynomial times that product,
// plus that sum. When the older part has run out, the newer becomes the older
// in one sweep, so an instant costs constant time on average, and nothing is
// ever divided.
type windowNotes struct {
	kernel
	n    int       // coefficients of a polynomial
	ring []float64 // by place, keep polynomials each; of the newer part only the chance
	sum  []float64 // by place, of the newer part
	prod []float64 // by place, of the newer part
	span []windowSpan
	sub  []float64 // scratch: a product
}

// A windowSpan says which instants of a ring are filled.
type windowSpan struct {
	oldest       int32 // where the oldest is
	older, newer int32 // how many there are
}

func newWindowNotes(k kernel) *windowNotes {
	return &windowNotes{kernel: k, n: k.size(), sub: make([]float64, k.size())}
}

func (w *windowNotes) grow() {
	w.ring = append(w.ring, make([]float64, w.n*w.keep)...)
	w.sum = append(w.sum, make([]float64, w.n)...)
	w.prod = append(w.prod, make([]float64, w.n)...)
	w.span = append(w.span, windowSpan{})
	w.reset(len(w.span) - 1)
}

func (w *windowNotes) reset(place int) {
	w.span[place] = windowSpan{}
	w.empty(place)
}

// empty begins a newer part.
func (w *windowNotes) empty(place int) {
	sum, prod := w.newer(place)
	clear(sum)
	clear(prod)
	prod[0] = 1
}

func (w *windowNotes) newer(place int) (sum, prod []float64) {
	return w.sum[place*w.n : (place+1)*w.n], w.prod[place*w.n : (place+1)*w.n]
}

// entry returns the i-th oldest instant of a place.
func (w *windowNotes) entry(place int, i int32) []float64 {
	at := int(w.span[place].oldest+i) % w.keep
	from := (place*w.keep + at) * w.n
	return w.ring[from : from+w.n]
}

func (w *windowNotes) add(place int, p float64) float64 {
	s := &w.span[place]
	if int(s.older+s.newer) == w.keep {
		if s.older == 0 {
			w.turn(place)
		}
		s.older--
		s.oldest = (s.oldest + 1) % int32(w.keep)
	}
	w.entry(place, s.older+s.newer)[0] = p
	s.newer++
	sum, prod := w.newer(place)
	w.pass(sum, p)
	sum[0] += p
	w.pass(prod, p)
	worth := w.worth(sum)
	if s.older > 0 {
		worth += w.worthOfProduct(prod, w.entry(place, 0))
	}
	if worth < negligible {
		return 0
	}
	return worth
}

// turn makes the newer part the older: from the newest instant back, each
// entry becomes what it and those after it add up to.
func (w *windowNotes) turn(place int) {
	s := &w.span[place]
	clear(w.sub)
	w.sub[0] = 1
	var after []float64
	for i := s.newer - 1; i >= 0; i-- {
		e := w.entry(place, i)
		p := e[0]
		for m := range e {
			e[m] = p * w.sub[m]
			if after != nil {
				e[m] += after[m]
			}
		}
		w.pass(w.sub, p)
		after = e
	}
	s.older, s.newer = s.newer, 0
	w.empty(place)
}
