package noise

import "fmt"

// TokensOf returns the tokens of a line as they are found by hand, and as the pattern
// alone finds them.
func TokensOf(line string) (byHand, byPattern string) {
	pattern, now, aged := tokens, tokenNow, mayAge(line)
	if aged {
		pattern, now = andAges, anyNow
	}
	return fmt.Sprint(scan(line, pattern, now, aged)), fmt.Sprint(pattern.FindAllStringSubmatchIndex(line, -1))
}
