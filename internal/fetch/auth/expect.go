package auth

import (
	"bytes"
	"fmt"
	"regexp"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/profile"
	"freshet/internal/mask"
)

// mostSteps bounds what holding a pattern against a body can cost: its instructions
// times the bytes. It is a second or two.
const mostSteps = 200_000_000

// judge returns why a response is not what a source expects, nil if it is. It judges the
// response without secrets: the verdict is shown, and would give them away bit by bit.
func (f *filling) judge(e *profile.Expect, body []byte) error {
	if e == nil {
		return nil
	}
	return judge(e, f.cleanBody(body))
}

// judge returns why a body is not what a source expects, nil if it is.
func judge(e *profile.Expect, body []byte) error {
	if e == nil {
		return nil
	}
	if e.Match != "" {
		found, err := matches(e.Match, body)
		if err != nil {
			return unexpected(failure.ExpectMatch, "expect.match: %w", err)
		}
		if !found {
			return unexpected(failure.ExpectMatch, "the page does not contain %q", mask.Shorten(e.Match, 100))
		}
	}
	if e.NoMatch != "" {
		found, err := matches(e.NoMatch, body)
		if err != nil {
			return unexpected(failure.ExpectNoMatch, "expect.no_match: %w", err)
		}
		if found {
			return unexpected(failure.ExpectNoMatch, "the page contains %q", mask.Shorten(e.NoMatch, 100))
		}
	}
	return nil
}

func unexpected(class failure.Class, format string, args ...any) error {
	return &freshet.FetchError{Class: class, Err: fmt.Errorf(format, args...)}
}

// matches reports whether a pattern matches somewhere in a body.
func matches(pattern string, body []byte) (bool, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return false, err
	}
	if literal, whole := re.LiteralPrefix(); whole {
		return bytes.Contains(body, []byte(literal)), nil
	}
	if profile.PatternSize(pattern)*len(body) > mostSteps {
		return false, fmt.Errorf("the page of %d bytes is too large for this pattern; use a shorter one, or plain text", len(body))
	}
	return re.Match(body), nil
}
