package extract

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"freshet/internal/lazyregexp"
)

// A figure is a number as people write it: digits with marks between them, and
// what stands directly around it.
var figure = lazyregexp.New(`(?:\d|[.,]\d)(?:[\d.,']|[ ]\d{3}(?:\D|$))*`)

var (
	scientific = lazyregexp.New(`^[+-]?\d+(?:\.\d+)?[eE][+-]?\d{1,3}$`)
	currency   = lazyregexp.New(`\p{Sc}|\b(?:EUR|USD|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|CZK|HUF|AUD|CAD|NZD|INR|BRL|MXN|ZAR|TRY|KRW|SGD|HKD|Euro|euros?)\b|(?:^|\d )kr\b|zł|Fr\.`)
)

// ParseNumber reads the first number in a text in the usual notations: 1,234.56,
// 1.234,56, 1 234,56 and 1'234.56, with currencies, signs and percent, and with k,
// M or B for thousands, millions and billions.
//
// A single comma or point before three digits is a mark between thousands if the
// text is a price, because prices have no three decimals. Otherwise a comma is
// such a mark and a point is not.
func ParseNumber(s string) (float64, error) {
	s = asciiDigits(s)
	if trimmed := strings.TrimSpace(s); scientific.MatchString(trimmed) {
		return strconv.ParseFloat(trimmed, 64)
	}
	at := figureIn(s)
	if at == nil {
		return 0, fmt.Errorf("there is no number in %s", quoted(s))
	}
	digits, err := plainDigits(s[at[0]:at[1]], currency.MatchString(s))
	if err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is not a number", quoted(s[at[0]:at[1]]))
	}
	if isNegative(s, at[0], at[1]) {
		x = -x
	}
	return x * multiple(s[at[1]:]), nil
}

// figureIn returns where the first figure stands, without the marks behind it.
func figureIn(s string) []int {
	at := figure.FindStringIndex(s)
	if at == nil {
		return nil
	}
	at[1] = at[0] + len(strings.TrimRight(s[at[0]:at[1]], ".,' "))
	for at[1] > at[0] && (s[at[1]-1] < '0' || s[at[1]-1] > '9') { // what ended a group of digits
		at[1]--
	}
	return at
}

// asciiDigits returns s with the digits of other scripts, and the spaces, minus
// signs and apostrophes that stand in numbers, in ASCII.
func asciiDigits(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x80:
			return r
		case r == '\u00a0' || r == '\u202f' || r == '\u2009' || r == '\u2007':
			return ' '
		case r == '\u2212' || r == '\u2013' || r == '\ufe63' || r == '\uff0d':
			return '-'
		case r == '\u2019' || r == '\u02bc':
			return '\''
		case '\uff10' <= r && r <= '\uff19':
			return '0' + r - '\uff10'
		case '\u0660' <= r && r <= '\u0669':
			return '0' + r - '\u0660'
		case '\u06f0' <= r && r <= '\u06f9':
			return '0' + r - '\u06f0'
		case r == '\u066b':
			return '.'
		case r == '\u066c':
			return ','
		}
		return r
	}, s)
}

// plainDigits returns a figure with a point for its decimals and nothing else.
func plainDigits(s string, price bool) (string, error) {
	s = strings.NewReplacer(" ", "", "'", "").Replace(s)
	points, commas := strings.Count(s, "."), strings.Count(s, ",")
	group, decimal := "", ""
	switch {
	case points > 0 && commas > 0 && strings.LastIndex(s, ".") > strings.LastIndex(s, ","):
		group, decimal = ",", "."
	case points > 0 && commas > 0:
		group, decimal = ".", ","
	case points > 1:
		group = "."
	case commas > 1:
		group = ","
	case points == 1 && price && inThousands(s, "."):
		group = "."
	case points == 1:
		decimal = "."
	case commas == 1 && inThousands(s, ","):
		group = ","
	case commas == 1:
		decimal = ","
	}
	whole, rest := s, ""
	if decimal != "" {
		if strings.Count(s, decimal) > 1 {
			return "", fmt.Errorf("%s is not a number", quoted(s))
		}
		whole, rest, _ = strings.Cut(s, decimal)
	}
	if group != "" {
		parts := strings.Split(whole, group)
		for i, part := range parts {
			if i > 0 && len(part) != 3 && len(part) != 2 || i == len(parts)-1 && len(part) != 3 || part == "" { // 12,34,567 in India
				return "", fmt.Errorf("%s is not a number", quoted(s))
			}
		}
		whole = strings.Join(parts, "")
	}
	if len(whole)+len(rest) > 300 {
		return "", errors.New("the number is too long")
	}
	return "0" + whole + "." + rest + "0", nil
}

// inThousands reports whether a mark stands where one between thousands would.
func inThousands(s, mark string) bool {
	before, after, _ := strings.Cut(s, mark)
	return len(after) == 3 && 1 <= len(before) && len(before) <= 3 && before != "0"
}

// isNegative reports whether a minus stands before a figure, a currency perhaps
// in between, or whether the figure stands in brackets as in accounts.
func isNegative(s string, from, to int) bool {
	before := strings.TrimRightFunc(s[:from], func(r rune) bool { return unicode.Is(unicode.Sc, r) || r == ' ' })
	if i := strings.LastIndexFunc(s[:from], func(r rune) bool { return r == '-' }); i >= 0 && i == len(before)-1 {
		return i == 0 || !isWordByte(before[i-1]) // 10-12 is a range, and pump-5 a name
	}
	after := strings.TrimSpace(s[to:])
	return strings.HasSuffix(before, "(") && strings.TrimSpace(before) == "(" && (after == ")" || currency.MatchString(after) && strings.HasSuffix(after, ")"))
}

func isWordByte(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' || c >= 0x80 }

// multiple returns what a letter directly behind a figure multiplies it by.
func multiple(after string) float64 {
	word := after
	if i := strings.IndexFunc(after, func(r rune) bool { return !unicode.IsLetter(r) }); i >= 0 {
		word = after[:i]
	}
	switch word {
	case "k", "K":
		return 1e3
	case "M", "Mio", "mio":
		return 1e6
	case "B", "bn", "Mrd":
		return 1e9
	}
	return 1
}

// ParseBool reads whether a text says yes or no: in words, or by whether
// something can be had.
func ParseBool(s string) (bool, error) {
	word := strings.ToLower(strings.Trim(strings.TrimSpace(s), ".!✓✗ "))
	for _, no := range []string{"false", "no", "0", "off", "n", "nein", "non", "out of stock", "outofstock", "sold out", "soldout", "unavailable", "not available",
		"ausverkauft", "nicht verfügbar", "nicht lieferbar", "nicht auf lager", "épuisé", "indisponible", "agotado", "esaurito", "disabled", "closed"} {
		if word == no || len(no) > 5 && strings.Contains(word, no) {
			return false, nil
		}
	}
	for _, yes := range []string{"true", "yes", "1", "on", "y", "ja", "oui", "sí", "si", "in stock", "instock", "available", "auf lager", "verfügbar", "lieferbar",
		"en stock", "disponible", "disponibile", "enabled", "open"} {
		if word == yes || len(yes) > 5 && strings.Contains(word, yes) {
			return true, nil
		}
	}
	return false, fmt.Errorf("%s says neither yes nor no", quoted(s))
}
