package freshet

// A State is a value that a feature keeps for one source under a key, as of a
// place in the log of outcomes. The outcomes after that place bring it up to date.
type State struct {
	Source SourceID // "" means all sources together
	Key    string   // names the feature, such as "items"
	Upto   Cursor   // the last outcome it rests on
	Value  []byte   // only the feature reads it
}
