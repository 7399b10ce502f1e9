package hand

import (
	"context"

	"freshet"
	"freshet/noise"
)

// hear judges whether a capture differs from the head only in what differs at nearly
// every poll, and learns from it. What is only noise is stored quietly if the source
// says so. What is doubted is not judged: it is probably another page.
func (f *Finding) hear(ctx context.Context, o Order, s step) error {
	if o.Source.Noise == freshet.NoiseOff || o.Noise == nil || s.unknown {
		return nil
	}
	known, err := o.Noise(ctx)
	if err != nil {
		return nil // it is told as a change, and nothing is learnt
	}
	var m noise.Memory
	if err := m.UnmarshalBinary(known); err != nil {
		m = noise.Memory{} // damaged, or of another version: it is learnt anew
	}
	m.Polled(o.Head.Polls)
	f.Judged = m.Judge(s.base, s.text)
	if f.Noise, err = m.MarshalBinary(); err != nil {
		return err
	}
	if f.Judged.Verdict == noise.Noise && o.Source.Noise == freshet.NoiseAuto && len(f.Capture.Details.Fields) == 0 {
		f.Result, f.Capture.Quiet = freshet.Unchanged, freshet.QuietNoise
	}
	return nil
}
