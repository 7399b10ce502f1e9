package policy

// tableNotes is the accrual of urgencies without a step: the chances of the
// latest instants are kept and summed anew each time, as many as the table is
// long. With a tail, what grows older than the table goes on as a sum of
// exponentials.
type tableNotes struct {
	kernel
	ring  []float64 // by place, the chances of the latest instants
	tails []float64 // by place, for each exponential a polynomial in x
	span  []tableSpan
	left  []float64 // scratch: how likely so many changes came after
}

// A tableSpan says which instants of a ring are filled.
type tableSpan struct{ newest, count int32 }

func newTableNotes(k kernel) *tableNotes {
	return &tableNotes{kernel: k, left: make([]float64, k.rows())}
}

func (t *tableNotes) grow() {
	t.ring = append(t.ring, make([]float64, len(t.table))...)
	t.tails = append(t.tails, make([]float64, len(t.tail)*t.rows())...)
	t.span = append(t.span, tableSpan{})
}

func (t *tableNotes) reset(place int) {
	t.span[place] = tableSpan{}
	clear(t.tailsAt(place))
}

func (t *tableNotes) tailsAt(place int) []float64 {
	n := len(t.tail) * t.rows()
	return t.tails[place*n : place*n+n]
}

func (t *tableNotes) add(place int, p float64) float64 {
	n := len(t.table)
	ring, s := t.ring[place*n:place*n+n], &t.span[place]
	s.newest++
	if int(s.newest) >= n {
		s.newest = 0
	}
	leaving := 0.0
	if int(s.count) == n {
		leaving = ring[s.newest]
	} else {
		s.count++
	}
	ring[s.newest] = p
	worth := t.recent(ring, *s)
	if t.tail != nil {
		worth += t.older(place, p, leaving)
	}
	if worth < negligible {
		return 0
	}
	return worth
}

// recent sums over the table, and leaves in left what the passing of all its
// instants leaves of a change before them.
func (t *tableNotes) recent(ring []float64, s tableSpan) (sum float64) {
	clear(t.left)
	t.left[0] = 1
	lasts := 1.0 // the chance that a change of the instant in question is still there
	at := int(s.newest)
	for age := range int(s.count) {
		p := ring[at]
		sum += t.table[age] * p * lasts
		if t.last > 0 && p > 0 {
			thin(t.left, 1, p)
			lasts = 0
			for _, x := range t.left {
				lasts += x
			}
		}
		if at--; at < 0 {
			at = len(ring) - 1
		}
	}
	return sum
}

// older lets an instant pass for the exponentials, takes in the change that
// has just grown older than the table, and sums.
func (t *tableNotes) older(place int, p, leaving float64) (sum float64) {
	rows := t.rows()
	tails := t.tailsAt(place)
	for i, e := range t.tail {
		a := tails[i*rows : i*rows+rows]
		if t.last > 0 {
			thin(a, 1, p)
		}
		for q := range a {
			a[q] = e.decay*a[q] + e.weight*leaving*t.left[q]
			if a[q] < negligible {
				a[q] = 0
			}
			sum += a[q]
		}
	}
	return sum
}
