package main

import (
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/freshet"
)

// A span is a stretch of time that is given with --since and --until.
type span struct{ since, until string }

// register adds the flags. What says what they are about, such as "changes".
func (s *span) register(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&s.since, "since", "", "only "+what+" seen at this `time` or later: a date, a time, or how long ago, such as 2d")
	cmd.Flags().StringVar(&s.until, "until", "", "only "+what+" seen before this `time`; a date is its beginning")
}

// read returns the span that was given.
func (s *span) read(p *program) (in freshet.Between, err error) {
	if in.Since, err = p.moment("since", s.since); err != nil {
		return in, err
	}
	if in.Until, err = p.moment("until", s.until); err != nil {
		return in, err
	}
	if !in.Since.IsZero() && !in.Until.IsZero() && !in.Since.Before(in.Until) {
		return in, usagef("--until %s is not after --since %s", s.until, s.since)
	}
	return in, nil
}

// moment reads a time that was given with a flag; none is the zero time.
func (p *program) moment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := freshet.ParseTime(text, p.now(), time.Local)
	if err != nil {
		return t, usagef("--%s: %v", flag, err)
	}
	return t, nil
}
