package worker

import (
	"context"
	"errors"
	"log/slog"

	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
)

// StoredHistory returns the history of a source in a store, up to a head. Key returns the
// key of a page that the source gives hints for; it may be nil if the task has no Hints.
func StoredHistory(store freshet.Store, id freshet.SourceID, head freshet.Head, key func(url string) (crawl.PageKey, bool), log *slog.Logger) History {
	return &storedHistory{store, id, head.Number, head.Held.Number, key, log}
}

type storedHistory struct {
	store       freshet.Store
	id          freshet.SourceID
	head        int // number of the version
	quarantined int // likewise
	key         func(url string) (crawl.PageKey, bool)
	log         *slog.Logger
}

func (h *storedHistory) Text(ctx context.Context) ([]byte, error) { return h.textOf(ctx, h.head) }

func (h *storedHistory) QuarantinedText(ctx context.Context) ([]byte, error) {
	return h.textOf(ctx, h.quarantined)
}

// textOf returns the text of a version.
func (h *storedHistory) textOf(ctx context.Context, number int) ([]byte, error) {
	text, err := h.store.Text(ctx, h.id, number)
	if err != nil && !errors.Is(err, freshet.ErrNotFound) { // it may have been purged since
		h.log.Error("cannot read the previous version", "source", h.id, "version", number, "err", err)
	}
	return text, err
}

func (h *storedHistory) Body(ctx context.Context) ([]byte, error) {
	raw, err := h.store.Raw(ctx, h.id, h.head)
	return raw.Body, err
}

func (h *storedHistory) Picture(ctx context.Context) ([]byte, error) {
	return h.store.Picture(ctx, h.id, h.head)
}

// VersionsWith reads the newest versions only if one has the text: most texts are new, and
// to find that out costs a tenth of reading the versions.
func (h *storedHistory) VersionsWith(ctx context.Context, text freshet.Hash) ([]freshet.Version, error) {
	number, err := h.store.VersionWith(ctx, h.id, text, h.head-Recently)
	if err != nil || number == 0 {
		return nil, err
	}
	return h.store.Versions(ctx, h.id, freshet.Between{}, 0, Recently)
}

func (h *storedHistory) Fields(ctx context.Context) (freshet.Fields, error) {
	v, err := h.store.Version(ctx, h.id, h.head)
	return v.Fields, err
}

func (h *storedHistory) Noise(ctx context.Context) ([]byte, error) {
	return h.state(ctx, freshet.NoiseState)
}

func (h *storedHistory) Items(ctx context.Context) ([]byte, error) {
	return h.state(ctx, freshet.ItemState)
}

// state returns the saved state of an estimator.
func (h *storedHistory) state(ctx context.Context, estimator string) ([]byte, error) {
	belief, err := h.store.State(ctx, estimator, h.id)
	switch {
	case errors.Is(err, freshet.ErrNotFound):
		return nil, nil
	case err != nil:
		h.log.Error("cannot read what is known of a source; the poll goes on without it", "what", estimator, "source", h.id, "err", err)
	}
	return belief.Value, err
}

func (h *storedHistory) LearnNoise(ctx context.Context) (*noise.Memory, error) {
	newest, err := h.store.Outcomes(ctx, freshet.OutcomeQuery{Source: h.id, Newest: true, Limit: noise.Recalled})
	if err != nil {
		h.log.Error("cannot read how polls of a source ended; the poll goes on without it", "source", h.id, "err", err)
		return nil, err
	}
	return noise.Recall(newest, func(version int) ([]byte, error) { return h.store.Text(ctx, h.id, version) }), nil
}

func (h *storedHistory) PageKeys(_ context.Context, urls []string) ([]crawl.PageKey, error) {
	keys := make([]crawl.PageKey, len(urls))
	for i, url := range urls {
		if k, ok := h.key(url); ok {
			keys[i] = k
		}
	}
	return keys, nil
}
