package worker

import (
	"context"

	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
)

// judgeNoise judges whether a capture differs from the head only in what differs at nearly
// every poll, and learns from it. It does so only for sources that want to be spared
// such captures, which are stored quietly; for others [noise.Recall] reports noise on
// request. A suspect capture is not judged: it is probably another page.
func (f *Result) judgeNoise(ctx context.Context, t *Task, s step) error {
	if t.Source.Noise != freshet.NoiseAuto || s.unknown {
		return nil
	}
	m, err := t.noiseMemory(ctx, s.base)
	if err != nil {
		return nil // it is reported as a change, and nothing is learnt
	}
	m.Polled(t.Head.Polls)
	f.Judged = m.Judge(s.base, s.text)
	if f.Noise, err = m.MarshalBinary(); err != nil {
		return err
	}
	if f.Judged.Verdict == noise.Noise && len(f.Capture.Details.Fields) == 0 {
		f.Result, f.Capture.Quiet = freshet.Unchanged, freshet.QuietNoise
	}
	return nil
}

// noiseMemory returns what is known of the noise of the source. If nothing is, or it is
// damaged, or the source has changed since without being judged, its stored versions
// are read for it.
func (t *Task) noiseMemory(ctx context.Context, base []byte) (*noise.Memory, error) {
	known, err := t.History.Noise(ctx)
	if err != nil {
		return nil, err
	}
	m := &noise.Memory{}
	if err := m.UnmarshalBinary(known); err == nil && m.Follows(base) {
		return m, nil
	}
	return t.History.LearnNoise(ctx)
}
