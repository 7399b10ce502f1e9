package worker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/freshet/suspect"
	"freshet/internal/worker"
)

// A clocked page shows the time, and something else.
func clocked(minute int, text string) string {
	return fmt.Sprintf("<h1>Terms</h1><p>%s<p>Last checked 12:%02d:00", text, minute)
}

// follow looks at a page with a clock again and again, and returns what the last look
// found: minute by minute, until a last one with a text, or with a page of its own.
func follow(t *testing.T, setting freshet.NoiseSetting, last string, spoil func(*worker.Task)) worker.Result {
	s := newSite(t, says(clocked(0, "Pay on time.")))
	f := s.look(t, s.order(nil))
	known := f.Noise
	const minutes = 15
	for k := 1; k <= minutes; k++ {
		o := s.order(&f)
		o.Source.Noise, o.Head.Polls = setting, int64(k)
		pastOf(&o).noise = func(context.Context) ([]byte, error) { return known, nil }
		s.answer = says(clocked(k, "Pay on time."))
		if k == minutes {
			if s.answer = says(last); last[0] != '<' {
				s.answer = says(clocked(k, last))
			}
			if spoil != nil {
				spoil(&o)
			}
		}
		f = s.look(t, o)
		known = f.Noise
	}
	return f
}

// recalled is what the versions of the page teach that follow looks at.
func recalled(context.Context) (*noise.Memory, error) {
	var log []freshet.Outcome
	for k := range 15 {
		log = append(log, freshet.Outcome{Result: freshet.Changed, Version: 15 - k})
	}
	return noise.Recall(log, func(version int) ([]byte, error) {
		return fmt.Appendf(nil, "# Terms\nPay on time.\nLast checked 12:%02d:00\n", version-1), nil
	}), nil
}

func TestNoise(t *testing.T) {
	tests := []struct {
		name    string
		setting freshet.NoiseSetting
		text    string
		spoil   func(*worker.Task)
		result  freshet.Result
		quiet   freshet.Quiet
		verdict noise.Verdict
	}{
		{"auto", freshet.NoiseAuto, "Pay on time.", nil, freshet.Unchanged, freshet.QuietNoise, noise.Noise},
		{"report", freshet.NoiseReport, "Pay on time.", nil, freshet.Changed, "", ""},
		{"off", freshet.NoiseOff, "Pay on time.", nil, freshet.Changed, "", ""},
		{"a real change", freshet.NoiseAuto, "Pay at once.", nil, freshet.Changed, "", noise.Change},
		{"damaged memory", freshet.NoiseAuto, "Pay on time.", func(o *worker.Task) {
			pastOf(o).noise = func(context.Context) ([]byte, error) { return []byte("x"), nil }
		}, freshet.Changed, "", noise.Change},
		{"damaged memory of a source with versions", freshet.NoiseAuto, "Pay on time.", func(o *worker.Task) {
			pastOf(o).noise = func(context.Context) ([]byte, error) { return []byte("x"), nil }
			pastOf(o).learnNoise = recalled
		}, freshet.Unchanged, freshet.QuietNoise, noise.Noise},
		{"no memory, as when the source was not to be spared so far", freshet.NoiseAuto, "Pay on time.", func(o *worker.Task) {
			pastOf(o).noise = func(context.Context) ([]byte, error) { return nil, nil }
			pastOf(o).learnNoise = recalled
		}, freshet.Unchanged, freshet.QuietNoise, noise.Noise},
		{"memory of another time", freshet.NoiseAuto, "Pay on time.", func(o *worker.Task) {
			pastOf(o).noise = func(context.Context) ([]byte, error) {
				var old noise.Memory
				old.Judge([]byte("a"), []byte("b"))
				return old.MarshalBinary()
			}
			pastOf(o).learnNoise = recalled
		}, freshet.Unchanged, freshet.QuietNoise, noise.Noise},
		{"memory that leads up to the head", freshet.NoiseAuto, "Pay on time.", func(o *worker.Task) {
			pastOf(o).learnNoise = func(context.Context) (*noise.Memory, error) { return nil, errors.New("asked for nothing") }
		}, freshet.Unchanged, freshet.QuietNoise, noise.Noise},
		{"versions that cannot be read", freshet.NoiseAuto, "Pay on time.", func(o *worker.Task) {
			pastOf(o).noise = func(context.Context) ([]byte, error) { return nil, nil }
			pastOf(o).learnNoise = func(context.Context) (*noise.Memory, error) { return nil, errors.New("disk") }
		}, freshet.Changed, "", ""},
		{"memory that cannot be read", freshet.NoiseAuto, "Pay on time.", func(o *worker.Task) {
			pastOf(o).noise = func(context.Context) ([]byte, error) { return nil, errors.New("disk") }
		}, freshet.Changed, "", ""},
		{"many polls without a difference before", freshet.NoiseAuto, "Pay on time.", func(o *worker.Task) { o.Head.Polls += 100 }, freshet.Changed, "", noise.Change},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := follow(t, tt.setting, tt.text, tt.spoil)
			if f.Result != tt.result || f.Capture == nil || f.Capture.Quiet != tt.quiet || f.Judged.Verdict != tt.verdict {
				t.Errorf("the look found %s with %+v and judged %q", f.Result, f.Capture, f.Judged.Verdict)
			}
			if learnt := f.Noise != nil; learnt != (tt.verdict != "") {
				t.Errorf("the look learnt something: %v", learnt)
			}
			if rec := f.Record(freshet.Poll{}, noon); string(rec.Noise) != string(f.Noise) {
				t.Error("what is known of the noise is not recorded")
			}
		})
	}
}

// A page that is probably another one teaches nothing about the noise.
func TestSuspectIsNoNoise(t *testing.T) {
	f := follow(t, freshet.NoiseAuto, `<title>Login</title><p>Last checked 12:20:00<input type="password">`, nil)
	if f.Suspect != suspect.Login || f.Noise != nil || f.Judged.Verdict != "" {
		t.Errorf("a login page is suspect by %q and judged %q", f.Suspect, f.Judged.Verdict)
	}
}
