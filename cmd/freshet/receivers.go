package main

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"freshet/deliver"
	"freshet/fetch"
)

// receivers are the webhooks at work.
type receivers struct {
	*serving
	failed func(error) // told of one that cannot go on
	cancel context.CancelFunc
	flying sync.WaitGroup

	mu  sync.Mutex
	now []webhook
}

// names returns the names of the webhooks at work.
func (r *receivers) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return each(r.now, func(w webhook) string { return w.Name })
}

// newWebhook returns what sends to a webhook.
func newWebhook(s settings, w webhook) (*deliver.Webhook, error) {
	url, err := s.fetch.CheckURL(w.URL)
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", w.Name, err)
	}
	sink, err := deliver.NewWebhook(deliver.WebhookConfig{
		Name: w.Name, URL: url, Secret: w.Secret, Unsigned: w.Unsigned, Send: fetch.NewEgress(s.fetch).Do,
	})
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", w.Name, err)
	}
	return sink, nil
}

// check reports what is wrong with webhooks that are to be taken on.
func (r *receivers) check(to []webhook) error {
	for _, w := range to {
		if _, err := newWebhook(r.serving.now, w); err != nil {
			return err
		}
	}
	return nil
}

// replace lets these webhooks receive changes, and no others.
func (r *receivers) replace(ctx context.Context, to []webhook) error {
	if reflect.DeepEqual(r.now, to) {
		return nil
	}
	var followers []*deliver.Follower
	for _, w := range to {
		sink, err := newWebhook(r.serving.now, w)
		if err != nil {
			return err
		}
		f, err := deliver.NewFollower(ctx, deliver.FollowerConfig{
			Name: w.Name, Store: r.node.store, Send: sink.Send, Endpoint: w.URL,
			Sources: w.Sources, Tags: w.Tags, Base: r.serving.now.publicURL,
			Log: r.log, Observe: r.metrics.Delivery,
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
	r.now = to
	return nil
}

// stop ends all deliveries and waits for those under way.
func (r *receivers) stop() {
	if r.cancel != nil {
		r.cancel()
	}
	r.flying.Wait()
}
