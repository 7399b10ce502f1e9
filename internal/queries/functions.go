package queries

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"freshet/internal/freshet/profile"
)

// functions are what expressions can call, beyond what CEL has.
func functions() []cel.EnvOption {
	text, number, truth := cel.StringType, cel.DoubleType, cel.BoolType
	known := patterns{}
	match := cel.BinaryBinding(func(in, pattern ref.Val) ref.Val {
		return known.match(string(in.(types.String)), string(pattern.(types.String)))
	})
	return []cel.EnvOption{
		// What is relevant is asked when a message is made: see Topics.
		cel.Function(relevant, cel.Overload("relevant_text", []*cel.Type{text}, truth, cel.UnaryBinding(func(ref.Val) ref.Val { return types.True }))),
		cel.Function("matches", cel.Overload("matches_text", []*cel.Type{text, text}, truth, match), cel.MemberOverload("matches_string", []*cel.Type{text, text}, truth, match)),
		cel.Function("mentions", cel.Overload("mentions_text", []*cel.Type{text, text}, truth, cel.BinaryBinding(func(in, word ref.Val) ref.Val {
			return types.Bool(mentions(string(in.(types.String)), string(word.(types.String))))
		}))),
		cel.Function("lines", cel.Overload("lines_text", []*cel.Type{text}, cel.ListType(text), cel.UnaryBinding(func(in ref.Val) ref.Val {
			return types.NewStringList(types.DefaultTypeAdapter, lines(string(in.(types.String))))
		}))),
		cel.Function("date", cel.Overload("date_text", []*cel.Type{text}, cel.TimestampType, cel.UnaryBinding(func(in ref.Val) ref.Val {
			return date(string(in.(types.String)))
		}))),
		cel.Function("percent", cel.Overload("percent_numbers", []*cel.Type{number, number}, number, cel.BinaryBinding(func(before, now ref.Val) ref.Val {
			if before.(types.Double) == 0 {
				return types.NewErr("percent of nothing")
			}
			return (now.(types.Double)/before.(types.Double) - 1) * 100
		}))),
	}
}

// lookbacks are the functions that look at earlier changes. They have no body: see back.
func lookbacks() []cel.EnvOption {
	text, number, truth := cel.StringType, cel.DoubleType, cel.BoolType
	a := cel.TypeParamType("A")
	list := cel.ListType(a)
	back := func(name string, result *cel.Type, args ...*cel.Type) cel.EnvOption {
		return cel.Function(name, cel.Overload(name+"_default", args, result), cel.Overload(name+"_over", append(append([]*cel.Type{}, args...), text), result))
	}
	return []cel.EnvOption{
		cel.Function("count", cel.Overload("count_default", nil, cel.IntType), cel.Overload("count_over", []*cel.Type{text}, cel.IntType),
			cel.Overload("count_if", []*cel.Type{truth}, cel.IntType), cel.Overload("count_if_over", []*cel.Type{truth, text}, cel.IntType)),
		back("sum", number, number), back("lowest", number, number), back("highest", number, number),
		back("mean", number, number), back("median", number, number),
		back("previous", a, a), back("distinct", cel.IntType, a), back("others", list, a),
		back("first", truth, a), back("unseen", list, list), back("after", truth, truth),
	}
}

// mentions reports whether a text has a word or a name in it, however it is written in
// capitals, and not as part of a longer word.
func mentions(text, word string) bool {
	return mentionsLower(strings.ToLower(text), strings.ToLower(word))
}

func mentionsLower(text, word string) bool {
	if word == "" {
		return false
	}
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		i += at
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(word):])
		first, _ := utf8.DecodeRuneInString(word)
		last, _ := utf8.DecodeLastRuneInString(word)
		if !(inWord(before) && inWord(first)) && !(inWord(after) && inWord(last)) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		at = i + size
	}
}

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// lines returns the lines of a text that are not empty, without space around them.
func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// date reads a date as sources' values have it, with or without a time.
func date(text string) ref.Val {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return types.Timestamp{Time: t}
		}
	}
	return types.NewErr("%.40q is not a date", text)
}

// mostSteps bounds what holding a pattern against a text can cost: its instructions
// times the bytes.
const mostSteps = 50_000_000

// patterns are the regular expressions that were used of late.
type patterns map[string]pattern

type pattern struct {
	compiled *regexp.Regexp // nil: it cannot be used
	size     int            // instructions
}

// match holds a pattern against a text, if that can be afforded.
func (p patterns) match(text, expr string) ref.Val {
	one, ok := p[expr]
	if !ok {
		if len(p) == 500 {
			clear(p)
		}
		if one.size = profile.PatternSize(expr); one.size <= 2000 {
			one.compiled, _ = regexp.Compile(expr)
		}
		p[expr] = one
	}
	if one.compiled == nil {
		return types.NewErr("%.80q is not a regular expression, or is too large", expr)
	}
	if one.size*len(text) > mostSteps {
		return types.WrapErr(errCostly)
	}
	return types.Bool(one.compiled.MatchString(text))
}
