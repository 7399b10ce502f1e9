package retry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/retry"
)

var (
	errFull   = fmt.Errorf("write: %w", freshet.ErrStorage)
	errFailed = fmt.Errorf("sync: %w: %w", freshet.ErrStoreFailed, freshet.ErrStorage)
	errOther  = errors.New("no such source")
)

// TestWrite has a store refuse a write so many times, and then answer.
func TestWrite(t *testing.T) {
	tests := []struct {
		name    string
		refuses int
		answer  error
		want    []time.Duration // when each try is made
	}{
		{"the store can write", 0, nil, []time.Duration{0}},
		{"the store cannot for a moment", 1, nil, []time.Duration{0, 250 * time.Millisecond}},
		{"the store cannot for long", 8, nil, []time.Duration{
			0, 250 * time.Millisecond, 750 * time.Millisecond, 1750 * time.Millisecond, 3750 * time.Millisecond,
			7750 * time.Millisecond, 12750 * time.Millisecond, 17750 * time.Millisecond, 22750 * time.Millisecond,
		}},
		{"the write is at fault", 0, errOther, []time.Duration{0}},
		{"the write is at fault, when there is room", 1, errOther, []time.Duration{0, 250 * time.Millisecond}},
		{"the store has failed for good", 0, errFailed, []time.Duration{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var tries []time.Duration
				told := 0
				err := retry.Write(t.Context(), func() error {
					tries = append(tries, time.Since(began))
					if len(tries) <= tt.refuses {
						return errFull
					}
					return tt.answer
				}, func(times int, err error) {
					if told++; times != told || !errors.Is(err, errFull) {
						t.Errorf("refusal %d is told of as number %d: %v", told, times, err)
					}
				})
				if !errors.Is(err, tt.answer) {
					t.Errorf("it ended with %v, want %v", err, tt.answer)
				}
				if !slices.Equal(tries, tt.want) {
					t.Errorf("tried after %v, want %v", tries, tt.want)
				}
				if told != tt.refuses {
					t.Errorf("told of %d refusals, want %d", told, tt.refuses)
				}
			})
		})
	}
}

func TestWriteIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := errors.New("stopped")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, stopped)
		defer cancel()
		began, tries := time.Now(), 0
		err := retry.Write(ctx, func() error { tries++; return errFull }, func(int, error) {})
		if !errors.Is(err, stopped) || time.Since(began) != 2*time.Second || tries != 4 {
			t.Errorf("it ended with %v after %v and %d tries, want %v after 2s and 4", err, time.Since(began), tries, stopped)
		}
	})
}

// TestRun has something end again and again because the store cannot be read: it is run again, the
// sooner the longer it had run, until it fails for another reason.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		lasts := []time.Duration{0, 0, 0, time.Minute, 0, 0}
		var runs []time.Duration
		told := 0
		err := retry.Run(t.Context(), func() error {
			runs = append(runs, time.Since(began).Round(time.Millisecond))
			if len(runs) > len(lasts) {
				return errOther
			}
			time.Sleep(lasts[len(runs)-1])
			return errFull
		}, func(error) { told++ })
		want := []time.Duration{0, 250, 750, 1750, 62_000, 62_500, 63_500} // ms
		for i := range want {
			want[i] *= time.Millisecond
		}
		if !errors.Is(err, errOther) || told != len(lasts) || !slices.Equal(runs, want) {
			t.Errorf("it ended with %v after %v and %d refusals, want %v after %v", err, runs, told, errOther, want)
		}
	})
	for _, last := range []error{nil, errOther, errFailed} {
		runs := 0
		if err := retry.Run(t.Context(), func() error { runs++; return last }, func(error) {}); err != last || runs != 1 {
			t.Errorf("what ends with %v was run %d times and ended with %v", last, runs, err)
		}
	}
}
