package worker_test

import (
	"context"
	"errors"

	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/worker"
)

// A past is a History of functions. Where one is nil, nothing is known.
type past struct {
	text, body, picture, quarantined, items, noise func(context.Context) ([]byte, error)
	fields                                         func(context.Context) (freshet.Fields, error)
	learnNoise                                     func(context.Context) (*noise.Memory, error)
	versions                                       func(context.Context, freshet.Hash) ([]freshet.Version, error)
	keys                                           func(context.Context, []string) ([]crawl.PageKey, error)
}

// pastOf returns the past of a task, which may be new.
func pastOf(o *worker.Task) *past {
	if o.History == nil {
		o.History = &past{}
	}
	return o.History.(*past)
}

var errUnknown = errors.New("it is not known")

func bytesOf(ctx context.Context, f func(context.Context) ([]byte, error)) ([]byte, error) {
	if f == nil {
		return nil, errUnknown
	}
	return f(ctx)
}

func (p *past) Text(ctx context.Context) ([]byte, error)    { return bytesOf(ctx, p.text) }
func (p *past) Body(ctx context.Context) ([]byte, error)    { return bytesOf(ctx, p.body) }
func (p *past) Picture(ctx context.Context) ([]byte, error) { return bytesOf(ctx, p.picture) }

func (p *past) QuarantinedText(ctx context.Context) ([]byte, error) {
	return bytesOf(ctx, p.quarantined)
}
func (p *past) Items(ctx context.Context) ([]byte, error) { return bytesOf(ctx, p.items) }
func (p *past) Noise(ctx context.Context) ([]byte, error) { return bytesOf(ctx, p.noise) }

func (p *past) Fields(ctx context.Context) (freshet.Fields, error) {
	if p.fields == nil {
		return nil, errUnknown
	}
	return p.fields(ctx)
}

func (p *past) LearnNoise(ctx context.Context) (*noise.Memory, error) {
	if p.learnNoise == nil {
		return &noise.Memory{}, nil
	}
	return p.learnNoise(ctx)
}

func (p *past) VersionsWith(ctx context.Context, text freshet.Hash) ([]freshet.Version, error) {
	if p.versions == nil {
		return nil, errUnknown
	}
	return p.versions(ctx, text)
}

func (p *past) PageKeys(ctx context.Context, urls []string) ([]crawl.PageKey, error) {
	if p.keys == nil {
		return nil, errUnknown
	}
	return p.keys(ctx, urls)
}
