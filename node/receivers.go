package node

import (
	"context"
	"reflect"
	"sync"

	"freshet/config"
	"freshet/deliver"
)

// receivers are the webhooks at work.
type receivers struct {
	*service
	failed func(error) // told of one that cannot go on
	cancel context.CancelFunc
	flying sync.WaitGroup

	mu    sync.Mutex
	taken []config.Webhook
}

// names returns the names of the webhooks at work.
func (r *receivers) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, len(r.taken))
	for i, w := range r.taken {
		names[i] = w.Name
	}
	return names
}

// check reports what is wrong with webhooks that are to be taken on.
func (r *receivers) check(to []config.Webhook) error {
	for _, w := range to {
		if _, err := r.settings.Sink(w, r.Now); err != nil {
			return err
		}
	}
	return nil
}

// replace lets these webhooks receive changes, and no others.
func (r *receivers) replace(ctx context.Context, to []config.Webhook) error {
	if reflect.DeepEqual(r.taken, to) {
		return nil
	}
	var followers []*deliver.Follower
	for _, w := range to {
		sink, err := r.settings.Sink(w, r.Now)
		if err != nil {
			return err
		}
		f, err := deliver.NewFollower(ctx, deliver.FollowerConfig{
			Name: w.Name, Store: r.node.Store, Send: sink.Send, Endpoint: w.URL,
			Sources: w.Sources, Tags: w.Tags, Base: r.settings.PublicURL,
			Now: r.Now, Log: r.Log, Observe: r.metrics.Delivery,
		})
		if err != nil {
			return err
		}
		followers = append(followers, f)
	}
	r.stop()
	ctx, r.cancel = context.WithCancel(ctx)
	for _, f := range followers {
		r.flying.Go(func() {
			if err := f.Run(ctx); err != nil {
				r.failed(err)
			}
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = to
	return nil
}

// stop ends all deliveries and waits for those under way.
func (r *receivers) stop() {
	if r.cancel != nil {
		r.cancel()
	}
	r.flying.Wait()
}
