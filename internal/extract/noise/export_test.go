package noise

// A Token is a token of a line, as tests look at it.
type Token struct {
	Kind     Kind
	From, To int
}

// TokensOf returns the tokens of a line.
func TokensOf(line string) (found []Token) {
	for _, t := range tokenize(line) {
		found = append(found, Token{t.kind, t.from, t.to})
	}
	return found
}

// SaysState is saysState, and GrownOlder is grownOlder, for tests.
var (
	SaysState  = saysState
	GrownOlder = grownOlder
)

// IsStamp reports whether a line says when its page was made.
func IsStamp(text string) bool { return stampWords.in(text) }
