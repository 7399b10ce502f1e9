package freshet

// A Belief is what an estimator has come to think about one source, as of a
// place in the log of outcomes. The outcomes after that place, folded through
// the same estimator, bring it up to date.
type Belief struct {
	Source    SourceID // "" means all sources together
	Estimator string   // who holds it
	Upto      Cursor   // the last outcome it rests on
	Memory    []byte   // the estimator's own notes; nobody else reads them
}
